"""Decide what the provider tree in Placement should be, and which writes lead there. Pure functions only.

Begin with ``desired.py``: it builds the wanted tree from one snapshot, with ``reserve.py`` for ``reserved`` and
``provider_files.py`` for provider.yaml entries. ``diff.py`` compares the wanted tree with the present one and makes the
plan; ``tree_moves.py`` decides which providers are created or moved, and in which order.

``companion.py`` decides the allocations of the agent's own consumers. ``rival.py`` and ``identity_doubt.py`` decide
when the agent must not write at all.

Not here: the amounts and traits themselves (``agent/resources/``, ``agent/nested/``, ``agent/traits/``), every request
to Placement (``agent/placement/``), and changes to other consumers' allocations (``agent/repairs/``,
``agent/healing/``).
"""
