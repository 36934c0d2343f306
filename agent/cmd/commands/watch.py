"""``stocktake watch``: the state of all hosts, live, from the messages that the agents send over the broker."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.cmd.commands.base import DocumentCommand, argument

if TYPE_CHECKING:
    from agent.bus.listener import FleetListener
    from agent.bus.transport import Bus
    from agent.cmd.watch_screen import Screen

#: The default of ``--timeout``: how long ``--once`` waits for the first answer.
TIMEOUT_S = 5.0
#: ``--once`` ends when no further host has answered for this many seconds.
SETTLED_S = 2.0
REDRAW_S = 1.0
LONGEST_S = 86_400


def _seconds(text: str) -> float:
    with contextlib.suppress(ValueError):
        seconds = float(text)
        if 0 < seconds <= LONGEST_S:
            return seconds
    raise argparse.ArgumentTypeError(f"{text} is not a number of seconds above 0 and at most {LONGEST_S}")


class Watch(DocumentCommand):
    """Show all hosts live, one row per host. A terminal is redrawn; a pipe gets one line per message."""

    ARGUMENTS = (
        argument(
            "--once",
            action="store_true",
            help="request the state of all hosts from their agents, print it, and exit (with 2 if no agent answers)",
        ),
        argument(
            "--timeout",
            type=_seconds,
            default=TIMEOUT_S,
            metavar="S",
            help=f"with --once: seconds to wait until the first host answers (default {TIMEOUT_S:g}); after that the "
            f"command ends when {SETTLED_S:g} s pass without an answer of another host",
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Show messages until the operator interrupts; with --once return 0, or 2 if no agent answered.

        Raises ConfigError if transport_url is not set, SourceUnavailable (75) if the broker cannot be reached.
        """
        from agent.bus.listener import FleetListener
        from agent.cmd.watch_screen import screen_for

        options = self.app.options
        with FleetListener(_bus(options.config_file, options.config_dir, debug=options.debug)) as listener:
            listener.listen()
            listener.ask()
            screen = screen_for(parsed_args.format, self.app.stdout, once=parsed_args.once)
            if parsed_args.once:
                return _one_round(listener, screen, parsed_args.timeout)
            while True:
                _receive(listener, screen, REDRAW_S)


def _one_round(listener: FleetListener, screen: Screen, timeout_s: float) -> int:
    from agent.cmd.exit_handling import to_stderr
    from agent.exit_codes import CLEAN, PARTIAL

    end = time.monotonic() + timeout_s
    while (left_s := end - time.monotonic()) > 0:
        hosts = len(screen.fleet)
        _receive(listener, screen, left_s)
        if len(screen.fleet) > hosts:
            end = time.monotonic() + SETTLED_S
    screen.end(time.monotonic())
    if screen.fleet:
        return CLEAN
    to_stderr(f"no agent has answered within {timeout_s:g} s")
    return PARTIAL


def _receive(listener: FleetListener, screen: Screen, timeout_s: float) -> None:
    """Wait ``timeout_s``, but at most REDRAW_S, for a message. Then pass all received messages to the screen."""
    message = listener.take(min(timeout_s, REDRAW_S))
    while message is not None:
        received_at, document = message
        screen.received(document, received_at)
        message = listener.take(0)
    screen.draw(time.monotonic())


def _bus(config_files: Sequence[str], config_dirs: Sequence[str], *, debug: bool) -> Bus:
    from agent.bus.service import checked_bus
    from agent.cmd.logs import setup_command_logging
    from agent.config.load import load
    from agent.config.options.rabbit import bus_options_from
    from agent.config.traced_conf import set_override
    from agent.errors import ConfigError

    loaded = load(config_files, config_dirs)
    if debug:
        set_override(loaded.conf, "DEFAULT", "debug", True)  # noqa: FBT003 - an option's value
    setup_command_logging(loaded)
    options = bus_options_from(loaded)
    if options is None:
        where = ", ".join((*loaded.files, *loaded.nova_files)) or "no file"
        raise ConfigError(f"{where}: watch needs the message bus: set [DEFAULT] transport_url")
    return checked_bus(options)
