"""Start nova-compute's manager on a nova.conf and let the manager audit once; runs in the environment of nova.

All of it is nova's own code: the manager, the libvirt driver on the real libvirt, the resource tracker and the client
of Placement. Two things differ from the service: the cell database is an SQLite file, which the manager opens itself
instead of asking nova-conductor, and nobody listens for RPC. Nova keeps state in modules, so each nova.conf has a
process of its own, forked from this process, which has imported nova.

Read the paths of nova.conf files from stdin, one on a line; print one line of JSON for each: ``outcome`` and ``error``.
"""

import json
import os
import signal
import sys
import traceback

_TIME_S = 180


def answer(path):
    """Return the JSON text that a forked process makes of this nova.conf."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if not pid:
        signal.alarm(_TIME_S)
        with os.fdopen(write_end, "w") as out:
            json.dump(start_and_audit(path), out)
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as answered:
        text = answered.read()
    os.waitpid(pid, 0)
    return text or json.dumps({"outcome": "not-started", "error": "the process ended without an answer"})


def start_and_audit(path):
    """Do what nova.cmd.compute and nova.service.Service.start do on this nova.conf, up to the first audit."""
    from nova.compute import manager as manager_module

    failed = []
    # An exception in an audit is caught and logged by ComputeManager._update_available_resource_for_node.
    manager_module.LOG.exception = lambda *_args, **_more: failed.append(sys.exc_info()[1])
    try:
        manager = made_manager(path)
        manager.init_host(None)
        manager.pre_start_hook(made_service(manager.host))
    except BaseException as error:  # noqa: BLE001 - nova ends some wrong starts with SystemExit
        return told("not-started", error)
    return told("audit-failed", failed[0]) if failed else {"outcome": "audited", "error": None}


def made_manager(path):
    import nova.conf
    from nova import config
    from nova.compute import manager as manager_module
    from nova.db.main import api, models

    config.parse_args(["nova-compute", "--config-file", path])
    models.BASE.metadata.create_all(api.context_manager.writer.get_engine())
    # As nova.service.Service.create reads them.
    assert nova.conf.CONF.report_interval is not None
    return manager_module.ComputeManager()


def made_service(host):
    """Create the record of the service, as nova.service.Service.start does between init_host and pre_start_hook."""
    import nova.context
    from nova import objects

    service = objects.Service(nova.context.get_admin_context())
    service.host, service.binary, service.topic, service.report_count = host, "nova-compute", "compute", 0
    service.create()
    return service


def told(outcome, error):
    """Return an answer with the exception and the function that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].name})" if frames else ""
    return {"outcome": outcome, "error": f"{type(error).__name__}: {error}{place}".replace("\n", " ")}


def main():
    """Answer each line of stdin."""
    import nova.cmd.compute
    import nova.compute.manager
    import nova.db.main.models
    import nova.privsep
    import nova.virt.libvirt.driver
    from nova import objects

    # As root, nova's privileged functions (lvm2's commands) need no daemon.
    nova.privsep.sys_admin_pctxt.set_client_mode(False)
    objects.register_all()
    for line in sys.stdin:
        print(answer(line.strip()), flush=True)


if __name__ == "__main__":
    main()
