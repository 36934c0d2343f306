"""Turn whatever ends a command into an exit code and, where it failed, one clear line a problem on stderr.

cliff and argparse end with 2 on bad arguments, which means partial here; a
traceback is for --debug alone.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable

from agent.errors import AgentError, ConfigError, Retry
from agent.exit_codes import BAD_ARGUMENTS, BUG, CLEAN, CONFIGURATION, TEMPORARY
from agent.usage_error import UsageError

PROGRAM = "stocktake"
# 128 + the signal's number, as a shell counts.
INTERRUPTED = 130
PIPE_BROKEN = 141


def ended(run: Callable[[], int], *, debug: bool) -> int:
    """The exit code of ``run``; never raises."""
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
    except Exception as error:  # noqa: BLE001 - the last boundary: everything ends as a code and a line
        return _of_error(error, debug=debug)
    return code


def say(line: str) -> None:
    """One line on stderr, signed."""
    from agent.text.wording import printable

    sys.stderr.write(f"{PROGRAM}: {printable(line)}\n")


def _of_exit(error: SystemExit) -> int:
    # argparse ends with 2 on bad arguments, None or 0 after --help and --version.
    return BAD_ARGUMENTS if error.code else CLEAN


def _of_error(error: Exception, *, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    match error:
        case UsageError():
            say(str(error))
            return BAD_ARGUMENTS
        case ConfigError():
            for problem in error.problems:
                say(problem)
            return CONFIGURATION
        case AgentError():
            say(str(error))
            return BUG if error.retry is Retry.NEVER else TEMPORARY
    say(f"this is a bug: {type(error).__name__}: {_first_line(error)} (at {_place(error)}; --debug shows more)")
    return BUG


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["no message"])[0]


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "unknown"


def _forget_stdout() -> None:
    """The reader has gone (``| head``): the interpreter's last flush must not complain either."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
