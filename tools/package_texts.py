#!/usr/bin/env python3
"""Write the manual pages and the completion scripts of the package, from the program's own parsers and tables.

    tools/package_texts.py --root DIR

``--root`` is the package's file tree. The program writes the manual pages stocktake(1), one page for each command,
stocktake-agent(8), stocktake-probe(8), stocktake.conf(5) and stocktake-findings(7) below usr/share/man, and the
completion for bash, zsh and fish. Two runs write the same bytes: the date of the pages is SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).parent.parent
if (ROOT / "agent").is_dir():
    sys.path.insert(0, str(ROOT))

from agent.cmd import daemon, shell  # noqa: E402 - the path above comes first
from agent.cmd.command_line.help_texts import HELP_TEXTS, epilog_of  # noqa: E402
from agent.cmd.commands.complete import program_words  # noqa: E402
from agent.cmd.completion.bash import bash_script  # noqa: E402
from agent.cmd.completion.fish import fish_script  # noqa: E402
from agent.cmd.completion.zsh import zsh_script  # noqa: E402
from agent.cmd.registry import COMMANDS  # noqa: E402
from agent.config.options.opts import list_opts  # noqa: E402
from agent.findings import BUILTIN  # noqa: E402
from agent.privileged import server  # noqa: E402
from agent.sources.probe.protocol import Verb  # noqa: E402

RUNBOOKS = Path(sys.modules["agent"].__file__ or "").parent / "runbooks"
SECTIONS = ("Meaning", "Impact", "Severity and whether to page", "Look at", "Decide", "Do", "Undo", "Prevent")
FILES = (
    ("/etc/stocktake/stocktake.conf", "the configuration; see stocktake.conf(5)"),
    ("/etc/stocktake/stocktake.conf.d/*.conf", "read after stocktake.conf, in the order of the names"),
    ("/var/lib/stocktake/journal.jsonl", "the changes that heal, undo and adopt made; never delete this file"),
    ("/var/lib/stocktake/findings.json", "the live findings, and since when each is seen"),
    ("/run/stocktake/report.json", "the daemon's last report"),
    ("/usr/share/stocktake/alerts", "alert rules and scrape examples for Prometheus, and commands for Nagios"),
    ("/usr/share/stocktake/dashboards", "dashboards for Grafana"),
)


def roff(text: str) -> str:
    """Return a text that roff prints as it is."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in escaped.splitlines())


def marked(text: str) -> str:
    """Return a Markdown paragraph for roff: words in backticks and between ** are bold, a link keeps its text."""
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text)
    parts = re.split(r"`([^`]+)`|\*\*([^*]+)\*\*", text)
    words = [
        (plain or "", bold or strong or "")
        for plain, bold, strong in zip(parts[::3], [*parts[1::3], ""], [*parts[2::3], ""], strict=True)
    ]
    return "".join(roff(plain) + (f"\\fB{roff(bold)}\\fR" if bold else "") for plain, bold in words)


def head(name: str, section: int, summary: str) -> Iterator[str]:
    date = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), UTC).date()
    yield f'.TH {roff(name).upper()} {section} {date} "stocktake" "Stocktake"'
    yield from (".SH NAME", f"{roff(name)} \\- {roff(summary)}")


def synopsis(parser: argparse.ArgumentParser, program: str) -> Iterator[str]:
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split()).removeprefix(program).strip()
    yield from (".SH SYNOPSIS", f"\\fB{roff(program)}\\fR {roff(usage)}")


def options(parser: argparse.ArgumentParser, title: str = "OPTIONS") -> Iterator[str]:
    yield f".SH {title}"
    for action in parser._actions:
        names = ", ".join(f"\\fB{roff(flag)}\\fR" for flag in action.option_strings)
        value = (
            "" if action.nargs == 0 else (action.metavar or "{" + ",".join(map(str, action.choices or ["VALUE"])) + "}")
        )
        yield from (".TP", " ".join(filter(None, (names, f"\\fI{roff(str(value))}\\fR" if value else ""))))
        yield roff(" ".join((action.help or "").split()).replace("%%", "%") or "see above")


def table(title: str, rows: Iterator[tuple[str, str]] | tuple[tuple[str, str], ...]) -> Iterator[str]:
    yield f".SH {title}"
    for name, text in rows:
        yield from (".TP", f"\\fB{roff(name)}\\fR", roff(text))


def page_of_program(application: shell.Shell) -> str:
    lines = [*head("stocktake", 1, "audit the resources of a hypervisor in an OpenStack cloud")]
    lines += [*synopsis(application.parser, "stocktake"), ".SH DESCRIPTION", roff(shell.DESCRIPTION)]
    lines += [*options(application.parser)]
    lines += [
        *table(
            "COMMANDS",
            tuple(
                (entry.name, f"{entry.summary}; see stocktake-{entry.name.replace(' ', '-')}(1)") for entry in COMMANDS
            ),
        )
    ]
    lines += [*table("FILES", FILES)]
    see = ", ".join(f"stocktake\\-{roff(entry.name.replace(' ', '-'))}(1)" for entry in COMMANDS)
    lines += [".SH SEE ALSO", f"{see}, stocktake\\-agent(8), stocktake.conf(5), stocktake\\-findings(7)"]
    return "\n".join(lines) + "\n"


def page_of_command(application: shell.Shell, name: str, summary: str, load: type) -> str:
    parser = load(application, None).get_parser(f"stocktake {name}")
    lines = [*head(f"stocktake-{name.replace(' ', '-')}", 1, summary), *synopsis(parser, f"stocktake {name}")]
    lines += [".SH DESCRIPTION", roff(" ".join((parser.description or "").split())), *options(parser)]
    text = HELP_TEXTS.get(name)
    if text is not None:
        lines += [".SH EXAMPLES"]
        for line, what in text.examples:
            lines += [".TP", f"\\fB{roff(line)}\\fR", roff(what)]
        lines += [".SH EXIT STATUS"]
        for code, meaning in re.findall(
            r"^ +(\d+)  (.*)$", (epilog_of(name) or "").partition("exit codes:")[2], re.MULTILINE
        ):
            lines += [".TP", f"\\fB{code}\\fR", roff(meaning)]
    lines += [".SH SEE ALSO", "stocktake(1), stocktake\\-findings(7), stocktake.conf(5)"]
    return "\n".join(lines) + "\n"


def page_of_daemon() -> str:
    parser = daemon.argument_parser()
    lines = [
        *head("stocktake-agent", 8, "the daemon that audits this host and keeps its providers in Placement correct")
    ]
    lines += [*synopsis(parser, "stocktake-agent"), ".SH DESCRIPTION", roff(parser.description or ""), *options(parser)]
    signals = (
        ("HUP", "read the configuration again; systemctl reload stocktake-agent"),
        ("TERM, INT", "finish the audit or stop it, and end"),
        ("USR1", "audit now"),
        ("USR2", "write the state of the daemon to the log"),
    )
    lines += [*table("SIGNALS", signals), *table("FILES", FILES)]
    lines += [".SH SEE ALSO", "stocktake(1), stocktake.conf(5), stocktake\\-findings(7)"]
    return "\n".join(lines) + "\n"


def page_of_probe() -> str:
    parser = server.argument_parser()
    verbs = ", ".join(verb.value for verb in Verb)
    text = (
        "systemd starts this program for each connection to /run/stocktake-probe.sock, which is off by default. The "
        "program answers one request of root or of the user [agent] probe_user, and ends. A request has a verb and a "
        f"deadline, and nothing else. The verbs are {verbs}. What is read is in the configuration, which only root may "
        "be able to write. /usr/share/doc/stocktake/security.md says how to run the agent without privileges."
    )
    files = (
        ("/usr/lib/systemd/system/stocktake-probe.socket", "the socket: systemctl enable --now stocktake-probe.socket"),
        ("/usr/share/stocktake/systemd/unprivileged.conf", "the drop-in for stocktake-agent.service"),
        *FILES[:2],
    )
    lines = [*head("stocktake-probe", 8, "read as root what an agent without privileges may not read")]
    lines += [*synopsis(parser, "stocktake-probe"), ".SH DESCRIPTION", roff(text), *options(parser)]
    lines += [*table("FILES", files), ".SH SEE ALSO", "stocktake\\-agent(8), stocktake.conf(5)"]
    return "\n".join(lines) + "\n"


def page_of_configuration() -> str:
    lines = [*head("stocktake.conf", 5, "configuration of Stocktake"), ".SH DESCRIPTION"]
    lines += [
        roff(
            "The file has groups, such as [agent], and options, one on a line: name = value. What nova.conf sets on "
            "this host, the agent reads there. stocktake config check names every mistake."
        )
    ]
    groups: dict[str, list[object]] = {}
    for group, found in list_opts():
        groups.setdefault(str(getattr(group, "name", group)), []).extend(found)
    for group, found in groups.items():
        lines.append(f".SH [{roff(group)}]")
        for option in sorted(found, key=lambda each: each.name):
            lines += [*_option(option)]
    lines += [
        *table("FILES", FILES),
        ".SH SEE ALSO",
        "stocktake(1), stocktake\\-config\\-check(1), stocktake\\-config\\-show(1)",
    ]
    return "\n".join(lines) + "\n"


def _option(option: object) -> Iterator[str]:
    default = option.default if option.sample_default is None else option.sample_default
    yield from (".TP", f"\\fB{roff(option.dest)}\\fR (default: {roff(str('none' if default is None else default))})")
    yield roff(" ".join((option.help or "").split()) or "see the library's own documentation")
    if option.mutable:
        yield roff("A reload applies a change.")


def page_of_findings() -> str:
    lines = [*head("stocktake-findings", 7, "what each finding of Stocktake means, and what to do"), ".SH DESCRIPTION"]
    lines += [
        "Each section is one finding code. In the daemon's log, metrics and messages a finding has the same code."
    ]
    lines += ["\\fBstocktake explain\\fR \\fICODE\\fR prints one of these pages in the terminal."]
    for rule in sorted(BUILTIN, key=lambda each: each.code):
        lines += [f".SH {roff(rule.code)}", f"Severity: {rule.severity.value}."]
        lines += [*_runbook((RUNBOOKS / f"{rule.code}.md").read_text())]
    lines += [".SH SEE ALSO", "stocktake\\-findings(1), stocktake\\-explain(1), stocktake\\-heal(1)"]
    return "\n".join(lines) + "\n"


def _runbook(text: str) -> Iterator[str]:
    for title, body in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL):
        if title not in SECTIONS:
            continue
        yield f".SS {roff(title)}"
        for number, part in enumerate(re.split(r"```\w*\n(.*?)```", body, flags=re.DOTALL)):
            if number % 2:
                yield from (".PP", ".nf", *roff(part.rstrip("\n")).split("\n"), ".fi")
            else:
                paragraphs = [each.strip() for each in re.split(r"\n{2,}", part) if each.strip()]
                between = "\n.PP\n".join(map(marked, paragraphs))
                yield from ((".PP", between) if number and paragraphs else filter(None, (between,)))


def texts() -> dict[str, str]:
    """Return every generated file by its path below the root."""
    # argparse must not write a usage line for the width of this terminal.
    with mock.patch.dict(os.environ, COLUMNS="100"):
        return _texts()


def _texts() -> dict[str, str]:
    application = shell.Shell()
    words = program_words(application)
    man = "usr/share/man"
    pages = {
        f"{man}/man1/stocktake-{entry.name.replace(' ', '-')}.1": page_of_command(
            application, entry.name, entry.summary, entry.load()
        )
        for entry in COMMANDS
    }
    return pages | {
        f"{man}/man1/stocktake.1": page_of_program(application),
        f"{man}/man8/stocktake-agent.8": page_of_daemon(),
        f"{man}/man8/stocktake-probe.8": page_of_probe(),
        f"{man}/man5/stocktake.conf.5": page_of_configuration(),
        f"{man}/man7/stocktake-findings.7": page_of_findings(),
        "usr/share/bash-completion/completions/stocktake": bash_script("stocktake", words),
        "usr/share/zsh/vendor-completions/_stocktake": zsh_script("stocktake", words),
        "usr/share/fish/vendor_completions.d/stocktake.fish": fish_script("stocktake", words),
    }


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True)
    root = parser.parse_args().root
    for name, text in texts().items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
