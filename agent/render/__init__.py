"""Turn an audit's report into text and JSON for the commands, the report file and the log.

Begin with documents.py, which turns a report into JSON documents with stable keys. audit_text.py turns the audit's
document into text for people. explain.py decides what ``stocktake explain`` shows; explain_text.py and explain_json.py
render that. status.py checks and renders the report file, even if another version of the program wrote the file.

Every module here is pure: it reads no file, clock or socket, and prints nothing.

What does not belong here: printing and exit codes (agent/cmd), log lines (agent/telemetry), the report file itself
(agent/host_files), units and wording shared with other packages (agent/text), and the output of ``stocktake why``
(agent/why).
"""
