"""``stocktake why``: explain "No valid host".

Decide whether a request fits, and if not, which constraint refuses the request first.

Begin with ``answer.py``, which decides for each provider tree whether Placement would offer the tree. The rules are
those of Placement's allocation candidates: ``candidates.py`` has the rules for one provider, ``search.py`` and
``joint_rules.py`` have the rules for all groups of a request together. ``obstacles.py`` and ``inventory.py`` describe
the refusals and the changes that would help. ``host_room.py`` adds nova's rules for NUMA cells and huge pages, which
Placement does not know.

``parse_request.py`` and ``flavor.py`` build the request. ``report.py`` defines the result; ``text.py`` and ``json.py``
format the result. Every module is pure.

What does not belong here: reading Placement (``agent/placement/offers.py``), the command and its options
(``agent/cmd/why_run.py``, ``agent/cmd/why_validate.py``), and the request's own data classes
(``agent/model/resource_request.py``).
"""
