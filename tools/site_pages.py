"""Generate the reference pages of the HTML documents from the program's own tables: commands, options, events, metrics.

No page here is kept in the repository: the tables of the program are the only source. Pure, except for reading the
runbooks and the alert rules.
"""

from __future__ import annotations

import argparse
import logging
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import yaml

from agent import exit_codes
from agent.cmd import shell
from agent.cmd.command_line.help_texts import HELP_TEXTS, exits_of
from agent.cmd.registry import COMMANDS, Entry
from agent.findings import BUILTIN
from agent.monitoring.metrics.catalog import CATALOG, COUNTER, PREFIX
from agent.telemetry.events import EVENTS, Event, Logger, Varies

ROOT = Path(__file__).parent.parent
RUNBOOKS = ROOT / "agent/runbooks"
RULES = ROOT / "etc/prometheus/stocktake.rules.yaml"

VARIES = {
    Varies.SEVERITY: "the severity of the finding; at most WARNING while the finding is not confirmed",
    Varies.LOSS: "WARNING; ERROR once, when the finding about the source becomes an error or credentials are refused",
    Varies.OUTCOME: "INFO for clean and findings, WARNING for partial and refused, ERROR for unreadable and crashed",
    Varies.ROLE: "WARNING; INFO in role observer",
}


def generated_pages() -> dict[str, str]:
    """Return the text of each generated page by its path in the staged folder."""
    pages = {f"reference/commands/{_slug(entry.name)}.md": command_page(entry) for entry in COMMANDS}
    return {
        **pages,
        "reference/commands/index.md": commands_index(),
        "reference/options.rst": options_page(),
        "reference/events.md": events_page(),
        "reference/metrics.md": metrics_page(),
        "reference/exit-codes-by-command.md": exit_codes_page(),
        "runbooks/index.md": runbooks_index(),
    }


def command_page(entry: Entry) -> str:
    """Return the page of one command: usage, arguments, examples and exit codes."""
    program = f"stocktake {entry.name}"
    parser = entry.load()(shell.Shell(), None).get_parser(program)
    text = HELP_TEXTS[entry.name]
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    parts = (
        f"# {program}",
        _sentence(entry.summary),
        f"## Usage\n\n```text\n{usage}\n```",
        "\n\n".join(_group(group) for group in parser._action_groups if _shown(group._group_actions)),
        "## Examples\n\n"
        + _table(("Command", "What it does"), ((f"`{line}`", what) for line, what in text.examples)).rstrip(),
        "## Exit codes\n\n" + _table(("Code", "Meaning"), exits_of(entry.name)),
    )
    return "\n\n".join(parts) + "\n"


def commands_index() -> str:
    """Return the page that lists every command."""
    rows = ((f"[`stocktake {entry.name}`]({_slug(entry.name)}.md)", entry.summary) for entry in COMMANDS)
    return (
        "# Commands\n\nEach page is made from the parser and the help texts of the program.\n\n"
        + _table(("Command", "What the command does"), rows)
        + _toctree(_slug(entry.name) for entry in COMMANDS)
    )


def options_page() -> str:
    """Return the page of all configuration options; oslo.config's extension fills the page at the build."""
    title = "Configuration options"
    return (
        f"{'=' * len(title)}\n{title}\n{'=' * len(title)}\n\n"
        "Every option with its type, default and limits, from the program's own list. "
        ":doc:`/configuration` says where each value comes from.\n\n"
        ".. show-options:: stocktake\n"
    )


def events_page() -> str:
    """Return the page of all log events, by logger."""
    parts = ["# Log events\n\nThe text of an event never changes, so a filter or an alert can name the text."]
    for logger in Logger:
        rows = [(f"`{event}`", _level(event)) for event in EVENTS if event.logger is logger]
        if rows:
            parts.append(f"## {logger.value}\n\n" + _table(("Event", "Level"), rows))
    return "\n\n".join(parts)


def metrics_page() -> str:
    """Return the page of all metrics with their full names."""
    rows = (
        (
            f"`{PREFIX}{name}{'_total' if metric.kind == COUNTER else ''}`",
            metric.kind,
            ", ".join(f"`{label}`" for label in metric.labels),
            metric.help,
        )
        for name, metric in CATALOG.items()
    )
    head = "# Metrics\n\n[Monitoring](../monitoring.md) says what the values are while a source is unread."
    return f"{head}\n\n" + _table(("Metric", "Type", "Labels", "Value"), rows)


def exit_codes_page() -> str:
    """Return the page with the exit codes by name, and by command."""
    names = {
        value: name.lower().replace("_", " ")
        for name, value in vars(exit_codes).items()
        if name.isupper() and isinstance(value, int)
    }
    rows = [
        (f"[`{entry.name}`](commands/{_slug(entry.name)}.md)", str(code), meaning)
        for entry in COMMANDS
        for code, meaning in HELP_TEXTS[entry.name].exits
    ]
    return (
        "# Exit codes by command\n\n1, 78 and 127 mean the same in every command. "
        "[Exit codes](exit-codes.md) says what to do about each code.\n\n"
        + _table(("Code", "Name"), ((str(code), names[code]) for code in sorted(names)))
        + "\n## By command\n\n"
        + _table(("Command", "Code", "Meaning"), rows)
    )


def runbooks_index() -> str:
    """Return the page that lists the runbook of each finding and of each alert."""
    findings = [(_page(rule.code), rule.severity.value, _meaning(rule.code)) for rule in sorted_rules()]
    alerts = [(_page(name), severity, _meaning(name)) for name, severity in alert_severities().items()]
    return (
        "# Runbooks\n\nOne page for each finding and for each alert, for the operator who has to act. "
        "`stocktake explain NAME` prints the same page on the host.\n\n## Findings\n\n"
        + _table(("Finding", "Severity", "Meaning"), findings)
        + "\n## Alerts\n\nAn alert of severity `critical` pages a person at once, `warning` is a ticket, "
        "and `info` needs no action.\n\n"
        + _table(("Alert", "Severity", "Meaning"), alerts)
        + _toctree([*(rule.code for rule in sorted_rules()), *alert_severities()])
    )


def sorted_rules() -> list[object]:
    """Return the finding rules, sorted by code."""
    return sorted(BUILTIN, key=lambda rule: rule.code)


def alert_severities() -> dict[str, str]:
    """Return the severities of each alert, joined by "or", by the alert's name in alphabetical order."""
    found: dict[str, list[str]] = {}
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        for rule in group["rules"]:
            if "alert" in rule:
                found.setdefault(rule["alert"], []).append(rule["labels"]["severity"])
    return {name: " or ".join(found[name]) for name in sorted(found)}


def _page(name: str) -> str:
    return f"[{name}]({name}.md)"


def _meaning(name: str) -> str:
    """Return the first sentence of a runbook's section Meaning, without its links."""
    section = (RUNBOOKS / f"{name}.md").read_text().partition("\n## Meaning\n")[2].strip()
    paragraph = " ".join(section.split("\n\n")[0].split())
    return re.split(r"(?<=[.:]) (?=[A-Z])", paragraph)[0]


def _level(event: Event) -> str:
    return VARIES[event.level] if isinstance(event.level, Varies) else logging.getLevelName(event.level)


def _shown(actions: Sequence[argparse.Action]) -> list[argparse.Action]:
    return [action for action in actions if action.help != argparse.SUPPRESS]


def _group(group: argparse._ArgumentGroup) -> str:
    title = (group.title or "arguments").capitalize()
    rows = ((_names(action), _help(action)) for action in _shown(group._group_actions))
    return f"## {title}\n\n" + _table(("Argument", "Meaning"), rows).rstrip()


def _names(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`"
    value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    return ", ".join(f"`{flag}{value}`" for flag in action.option_strings)


def _help(action: argparse.Action) -> str:
    text = " ".join((action.help or "").split()).replace("%%", "%")
    if action.choices and not action.metavar:
        text += f"; one of {', '.join(f'`{choice}`' for choice in action.choices)}"
    return text.replace("%(default)s", str(action.default))


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _slug(name: str) -> str:
    return name.replace(" ", "-")


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(_cell(str(cell)) for cell in line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*") if "`" not in text else text.replace("|", "\\|")


def _toctree(names: Iterable[str]) -> str:
    return "\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"
