"""Read this host's provider tree from Placement over REST, and write what the agent has decided.

Begin with ``reader.py``, which reads the tree into a PlacementView, and ``writer.py``, which carries a plan out.
``wire.py`` and ``offer_wire.py`` are the only modules that know Placement's JSON. ``consumers.py``, ``sharing.py``,
``unlisted.py`` and ``detached_trees.py`` read what Placement's list of the tree's providers does not contain.
``allocations.py``, ``reshape.py`` and ``names.py`` serve heal, undo and adopt; ``offers.py`` reads for ``stocktake
why``. The subpackage ``http`` sends each request; authentication, time-outs, errors and throttling are there.

Not here: the decision what Placement should record (``agent/provider_tree/``, ``agent/repairs/``), the values that this
package returns (``agent/model/placement.py``), and the protocols that it implements (``agent/ports.py``).
"""
