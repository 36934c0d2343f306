"""What the agent logs: the changes that an audit found, the texts of the events, and a dump of the process.

Begin with audit_log.py: it compares a report with what the log already says, and returns the lines to log.
finding_changes.py decides which changes of findings appear in the log and in notifications. events.py lists the fixed
texts of events with their levels and loggers; event_log.py logs them. finding_lines.py, source_lines.py and lines.py
build the lines of an audit, and text_form.py writes each line in at most 1,000 bytes. dump.py describes the running
daemon. lasting_problem.py logs a repeated failure only if its cause is new.

What does not belong here: the set-up of oslo.log (agent/cmd/logs.py), documents and text for people (agent/render),
messages on the broker (agent/bus), and the report file (agent/host_files/reports.py). agent/daemon decides when to call
this package.
"""
