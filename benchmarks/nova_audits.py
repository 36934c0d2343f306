"""Start the real nova-compute and measure its audits; runs in the environment of nova. Prints the costs as JSON.

``python benchmarks/nova_audits.py --config-file FILE --audits N --server NAME=PID --database URL --access-log FILE``

All of it is nova's own code: the service with its manager, libvirt driver, resource tracker and client of Placement,
over the real nova-conductor. The process calls the audit itself, one after the other, so that nothing else of
nova-compute runs meanwhile: nova.conf turns the periodic tasks off.
"""

import argparse
import dataclasses
import json
import os
import time
from pathlib import Path

# Not through the package: it forbids eventlet to its processes, and nova imports eventlet. The folder of a program is
# the first in sys.path.
from server_cpu import server_cpu_ms  # type: ignore[import-not-found]
from statements import selects_of  # type: ignore[import-not-found]

WARM_UP = 2


@dataclasses.dataclass(frozen=True)
class Cost:
    """The cost of one audit of nova-compute."""

    cpu_ms: float
    wall_ms: float
    servers_ms: dict
    statements: int
    requests: int


def started(config_file):
    """Return the started nova-compute: what nova.cmd.compute does, up to and with Service.start."""
    import nova.privsep
    from nova import config, objects, service
    from nova.compute import rpcapi as compute_rpcapi
    from nova.conductor import rpcapi as conductor_rpcapi
    from nova.db.main import api
    from nova.objects import base
    from oslo_log import log

    config.parse_args(["nova-compute", "--config-file", config_file])
    log.setup(config.CONF, "nova")
    # As root, nova's privileged functions need no daemon.
    nova.privsep.sys_admin_pctxt.set_client_mode(False)
    objects.register_all()
    api.DISABLE_DB_ACCESS = True
    base.NovaObject.indirection_api = conductor_rpcapi.ConductorAPI()
    objects.Service.enable_min_version_cache()
    made = service.Service.create(
        binary="nova-compute", topic=compute_rpcapi.RPC_TOPIC, topic_alt=compute_rpcapi.RPC_TOPIC_ALT
    )
    made.start()
    return made


def measured(audit, servers, statements, requests):
    """Return the cost of one call of ``audit``."""
    before = {name: server_cpu_ms(pid) for name, pid in servers.items()}
    sent, asked, wall, cpu = requests(), statements(), time.perf_counter(), time.process_time()
    audit()
    return Cost(
        cpu_ms=(time.process_time() - cpu) * 1000,
        wall_ms=(time.perf_counter() - wall) * 1000,
        servers_ms={name: server_cpu_ms(servers[name]) - spent for name, spent in before.items()},
        statements=statements() - asked,
        requests=requests() - sent,
    )


def main():
    """Print the costs of the audits after the first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config-file", required=True)
    parser.add_argument("--audits", type=int, required=True)
    parser.add_argument("--server", action="append", default=[])
    parser.add_argument("--database", required=True)
    parser.add_argument("--access-log", required=True, type=Path, help="Placement's, a line for each request")
    options = parser.parse_args()
    compute = started(options.config_file)
    from nova import context

    servers = {name: int(pid) for name, _, pid in (server.partition("=") for server in options.server)}
    statements = selects_of(options.database)

    def audit():
        compute.manager.update_available_resource(context.get_admin_context())

    def requests():
        return options.access_log.read_text().count("\n")

    costs = [measured(audit, servers, statements, requests) for _ in range(WARM_UP + options.audits)]
    print(json.dumps([dataclasses.asdict(cost) for cost in costs[WARM_UP:]]), flush=True)
    # nova-compute's threads do not end by themselves.
    os._exit(0)


if __name__ == "__main__":
    main()
