"""The agent's metrics for Prometheus: values of the last report, and counters since the start of the process.

Begin with ``state.py``, which computes the metrics' new state from their old state and the report of an audit.
``counters.py`` has the counters, which only grow. ``amounts.py`` has the gauges; each gauge has the value from the last
audit that could read its source. ``catalog.py`` lists every metric with its type, help and labels. ``text.py`` renders
the state; only this module imports prometheus-client.

Labels come from closed lists or from the configuration. No label has a uuid, the name of an instance or of a volume, an
error or an address; the number of series does not depend on the number of guests, volumes or findings.

What does not belong here: the HTTP server (agent/monitoring/server.py), and the counters of requests to Placement
(agent/placement/http/request_counts.py), which this package only reads.
"""
