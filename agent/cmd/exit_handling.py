"""Turn the end of a command into an exit code, lines on stderr and, with ``-f json``, an error object on stdout.

The daemon also uses ``add_config_arguments`` and ``to_stderr``.

cliff and argparse exit with 2 on bad arguments. In this program 2 means a partial audit, so the parser
(agent/cmd/command_line) raises UsageError, and this module exits with 127. A traceback is printed only with --debug.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence

from agent.cmd.command_line.failures import Failure, FailureKind, error_document, failure_of
from agent.exit_codes import BAD_ARGUMENTS, CLEAN

PROGRAM = "stocktake"
# The exit code after SIGPIPE: 128 + the number of the signal, as shells report it.
PIPE_BROKEN = 141


def ended(run: Callable[[], int], words: Sequence[str] = ()) -> int:
    """Call ``run`` and return the exit code; turn every exception into an exit code. ``words`` is the command line."""
    try:
        code = run()
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
        return PIPE_BROKEN
    except SystemExit as error:
        # After --help and --version, argparse exits with None or 0; any other exit is for bad arguments.
        return BAD_ARGUMENTS if error.code else CLEAN
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last boundary: every error gets a code
        if "--debug" in words and not isinstance(error, KeyboardInterrupt):
            traceback.print_exception(error)
        return _failed(failure_of(error), words)
    return code


def wants_json(words: Sequence[str]) -> bool:
    """Return whether the command line asks for JSON.

    The parser may reject this command line, so this function does not use the parser.
    """
    before = ("", *words)
    for previous, word in zip(before, words, strict=False):
        name, _, value = word.partition("=")
        if word in ("-fjson", "-f=json") or (_is_format(name) and value == "json"):
            return True
        if word == "json" and (previous == "-f" or _is_format(previous)):
            return True
    return False


def to_stderr(line: str, program: str = PROGRAM) -> None:
    """Write one line to stderr, prefixed with the program's name."""
    from agent.text.wording import printable

    sys.stderr.write(f"{program}: {printable(line)}\n")


def add_config_arguments(parser: argparse.ArgumentParser) -> None:
    """Add --config-file and --config-dir, for ``stocktake`` and ``stocktake-agent`` (the daemon)."""
    file = "configuration file, a later file overrides an earlier file (default: /etc/stocktake/stocktake.conf)"
    folder = "folder of *.conf files, sorted by name and read after all --config-file files"
    parser.add_argument("--config-file", action="append", default=[], metavar="FILE", help=file)
    parser.add_argument("--config-dir", action="append", default=[], metavar="DIR", help=folder)


def _is_format(word: str) -> bool:
    # argparse also accepts a shortened option such as --form. So every beginning of --format counts as --format.
    return len(word) > len("--f") and "--format".startswith(word)


def _failed(failure: Failure, words: Sequence[str]) -> int:
    as_json = wants_json(words)
    # After Ctrl-C, print no message for people: the operator knows why the command ended.
    if as_json or failure.kind is not FailureKind.INTERRUPTED:
        for line in failure.lines:
            to_stderr(line)
    if as_json:
        try:
            sys.stdout.write(json.dumps(error_document(failure), indent=2) + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            _forget_stdout()
    return failure.code


def _forget_stdout() -> None:
    """Point stdout at /dev/null, so that Python's flush of stdout at exit does not fail.

    The reader of stdout (such as ``| head``) has closed the pipe, so a flush into the pipe would raise an error.
    """
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
