"""``stocktake watch``: receive the messages of all cells, and show them live, as lines in a pipe, or once.

Begin with ``run.py``, which decides between the three forms: ``live.py`` redraws a terminal and obeys keys,
``stream.py`` prints each message to a pipe, ``once.py`` asks all agents, waits and prints. ``cells.py`` has one
connection per broker; ``store.py`` keeps the last message of each host; ``expected_lists.py`` reads which hosts should
send messages. ``ui.py`` and ``keys.py`` decide what a key does; ``drawing.py`` makes the lines of the screen, and
``terminal.py`` sets the terminal up and restores it.

What does not belong here: rows, numbers, documents and words about hosts (``agent/fleet``), and the broker itself
(``agent/bus``).
"""
