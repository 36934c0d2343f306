"""Call nova-conductor over oslo.messaging, without importing nova.

The package reads the cloud's state of one host (``[state] source = conductor``) and writes compute node records.

Begin with ``reader.py``, the StateSource. ``questions.py`` lists the RPC calls of one read, ``wire.py`` turns nova's
objects into rows, and ``manifest.py`` names the object versions that the agent requests. ``client.py`` sends the calls
within a deadline. ``complaints.py`` turns each failure into an error; the same failure always gets the same text.
``records.py`` and ``node_wire.py`` write compute node records.

Not here: the parsing of rows into a ``NovaState`` and the source that reads the cell database (both in
``agent/sources/nova/``); the broker connection and the agent's own messages (``agent/bus/``); the decision of what a
compute node record should contain (``agent/node_record/``).
"""
