"""Turn an audit's report into text and JSON for the commands, the report file and the log.

Begin with documents.py, which turns a report into JSON documents with stable keys. The modules named ``*_text``
describe these documents in words, the modules named ``*_grid`` make tables of them. Text is a sequence of values of
layout.py. Only draw.py uses rich, which wraps, aligns and colours the values for a terminal. explain.py decides what
``stocktake explain`` shows. status.py checks the report file and describes it in words, even if another version of the
program wrote the file.

Every module here is pure: it reads no file, clock or socket, and prints nothing. The daemon imports only documents.py
and what documents.py needs, so it never imports rich.

What does not belong here: printing and exit codes (agent/cmd), log lines (agent/telemetry), the report file itself
(agent/host_files), units and wording shared with other packages (agent/text), and the output of ``stocktake why``
(agent/why).
"""
