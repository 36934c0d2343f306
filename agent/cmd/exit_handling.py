"""Turn the end of a command into an exit code and, if the command failed, one line on stderr for each problem.

The daemon also uses ``add_config_arguments`` and ``to_stderr``.

cliff and argparse exit with 2 on bad arguments. In this program 2 means a partial audit, so this module exits with 127
on bad arguments. A traceback is printed only with --debug.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable

from agent.errors import AgentError, ConfigError, Retry
from agent.exit_codes import BAD_ARGUMENTS, BUG, CLEAN, CONFIGURATION, TEMPORARY
from agent.usage_error import UsageError

PROGRAM = "stocktake"
# 128 + the number of the signal, as shells report it.
INTERRUPTED = 130
PIPE_BROKEN = 141


def ended(run: Callable[[], int], *, debug: bool) -> int:
    """Call ``run`` and return the exit code; turn every exception into an exit code."""
    try:
        code = run()
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
        return PIPE_BROKEN
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as error:
        return _of_exit(error)
    except Exception as error:  # noqa: BLE001 - the last boundary: each exception becomes an exit code
        return _of_error(error, debug=debug)
    return code


def to_stderr(line: str, program: str = PROGRAM) -> None:
    """Write one line to stderr, prefixed with the program's name."""
    from agent.text.wording import printable

    sys.stderr.write(f"{program}: {printable(line)}\n")


def add_config_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name the configuration files; both programs have these arguments."""
    file = "configuration file, a later file overrides an earlier file (default: /etc/stocktake/stocktake.conf)"
    folder = "folder of *.conf files, which are read after all --config-file, in the order of their names"
    parser.add_argument("--config-file", action="append", default=[], metavar="FILE", help=file)
    parser.add_argument("--config-dir", action="append", default=[], metavar="DIR", help=folder)


def _of_exit(error: SystemExit) -> int:
    # argparse exits with 2 on bad arguments, and with None or 0 after --help and --version.
    return BAD_ARGUMENTS if error.code else CLEAN


def _of_error(error: Exception, *, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    match error:
        case UsageError():
            to_stderr(str(error))
            return BAD_ARGUMENTS
        case ConfigError():
            for problem in error.problems:
                to_stderr(problem)
            return CONFIGURATION
        case AgentError():
            to_stderr(str(error))
            return BUG if error.retry is Retry.NEVER else TEMPORARY
    to_stderr(f"this is a bug: {type(error).__name__}: {_first_line(error)} (at {_place(error)}; --debug shows more)")
    return BUG


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["no message"])[0]


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "unknown"


def _forget_stdout() -> None:
    """Point stdout at /dev/null, because the reader closed the pipe (``| head``) and the flush at exit would fail."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
