"""Run the daemon: its threads, when an audit starts, and what follows an audit.

Two threads do the work. The main thread (``runner.py``) acts on signals and reports to systemd. The worker
(``worker.py``) is the only thread that audits and writes. Between them, ``audit_queue.py`` merges all reasons to audit
into few audits, and ``triggers.py`` adds reasons by the clock.

Begin with ``assembly.py``, which connects the parts, then read ``worker.py``.

What does not belong here: what an audit does (agent/audit/), sources of events (agent/sources/), the message bus
(agent/bus/), the wording of log lines (agent/telemetry/), and command-line wiring (agent/cmd/).
"""
