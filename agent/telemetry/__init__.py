"""What the agent logs: the changes that an audit found, the texts of the events, and a dump of the process.

Begin with audit_log.py: the module compares a report with the lines that were logged before, and returns the lines to
log. finding_changes.py decides which changes of findings the log and the notifications report. events.py lists the
constant texts with their levels and loggers; event_log.py logs them. finding_lines.py, source_lines.py and lines.py
build the lines of an audit, and text_form.py writes each line in at most 1,000 bytes. dump.py describes the running
daemon. lasting_problem.py logs a repeated failure only if its cause is new.

What does not belong here: the set-up of oslo.log (agent/cmd/logs.py), documents and text for people
(agent/render), messages on the broker (agent/bus), and the report file (agent/host_files/reports.py). agent/daemon
decides when to call this package.
"""
