"""Output about the agent itself that oslo.log does not write: journal priorities, syslog, and the report for SIGUSR2.

Begin with journald.py, which gives each line on stderr its priority. change_syslog.py sends one line to syslog for each
change that an operator's command made. state_report.py writes the report about the running daemon for SIGUSR2.

What does not belong here: the set-up of oslo.log (agent/cmd/logs.py), and the texts and fields of events
(agent/telemetry).
"""
