"""Answer monitoring systems over HTTP: health, metrics and the last report.

``server.py`` has one HTTP server for each address, on a unix socket or a TCP port. Begin with ``service.py``, which
joins the addresses, the documents and the daemon. ``health.py`` decides the state of each health check from the audits'
reports. ``address.py`` parses the addresses of the configuration.

Every answer comes from the last report and from counters: a request never reads a source and never starts an audit.

What does not belong here: the log (agent/telemetry), messages on the broker (agent/bus), and the report file that
``stocktake status`` reads (agent/host_files/reports.py).
"""
