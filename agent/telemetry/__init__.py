"""What the agent logs: which changes an audit logs, the texts of the events, and a dump of the process.

Begin with audit_log.py: it compares a report with what was logged before, and returns the lines to log.
finding_changes.py decides which changes of findings the log and the notifications report. lines.py builds the log
records, and events.py lists their constant texts. dump.py logs every thread's stack. lasting_problem.py
logs a repeated failure only if its cause is new.

What does not belong here: the set-up of oslo.log (agent/cmd/logs.py), documents and text for people
(agent/render), messages on the broker (agent/bus), and the report file (agent/host_files/reports.py). agent/daemon
decides when to call this package.
"""
