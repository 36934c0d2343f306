"""The probe of the message broker: send one message that no program receives."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from agent.bus.options import BusOptions
from agent.cmd.probes.probe import Probe
from agent.config.loaded import Loaded
from agent.config.options.rabbit import bus_options_from
from agent.ports import Deadline


def broker_probes(loaded: Loaded) -> Iterator[Probe]:
    """Yield the probe of the message broker if a broker is configured."""
    options = bus_options_from(loaded)
    if options is not None:
        yield Probe(what="message broker", ask=functools.partial(_broker, options))


def _broker(options: BusOptions, _deadline: Deadline) -> str:
    # Import late: oslo.messaging takes half a second, and a host without a broker does not need oslo.messaging.
    from agent.bus.reach import TOPIC, reach
    from agent.bus.transport import Bus
    from agent.conductor.complaints import Complaints

    bus = Bus(options)
    try:
        reach(bus)
    except Exception as error:
        # Catch everything, because oslo.messaging also raises exceptions of other libraries. Their texts may contain
        # the broker's password; ``Complaints`` makes an error without the password.
        raise Complaints(options, TOPIC).undelivered(error) from error
    finally:
        bus.close()
    return f"{options.shown} accepts messages"
