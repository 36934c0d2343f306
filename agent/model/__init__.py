"""Frozen values that the rest of the agent passes around: what an audit read, decided and will write.

Begin with ``snapshot.py`` (everything that one audit read) and follow its imports: ``placement.py``, ``nova.py``,
``host/facts.py`` and ``host/storage.py``. Then read ``claim.py`` and ``books.py`` (the three books: the amounts that
nova promised, that guests hold, and that Placement records), ``finding.py``, ``plan.py`` (writes to Placement and nova)
and ``report.py`` (the result of an audit). ``host/`` has the values that describe the hypervisor itself.

Every class is a frozen dataclass, a NamedTuple or an enum, and every function is pure: no I/O and no clock.
Nothing here may import a module of the agent outside this package, except ``agent/errors.py``.

What does not belong here: reading (``agent/sources``, ``agent/placement``), deciding (``agent/books``,
``agent/findings``, ``agent/provider_tree``), writing to the host's files (``agent/host_files``) and printing
(``agent/render``). The interfaces between these packages are in ``agent/ports.py``.
"""
