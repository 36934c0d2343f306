"""The state of a fleet for ``stocktake watch``: each host's last message, and the rows, sums and texts made from them.

Begin with ``view.py``: ``fleet_view`` turns the messages and the expected hosts into one frozen ``FleetView``, from
which every output is made. ``host.py`` reads one message, ``conditions.py`` decides how bad a host is, ``ordering.py``
sorts and filters, ``strip.py`` makes the line with one character per group of hosts. ``table.py``, ``head.py``,
``details.py`` and ``lines.py`` have the texts for people, ``documents.py`` those for programs. Every module is pure.

What does not belong here: the broker (``agent/bus``), and the terminal, its keys and the command
(``agent/cmd/watching``).
"""
