"""The compute node record: the row in Nova's ``compute_nodes`` table that describes this host and its usage.

The agent writes the record only in role owner, through nova-conductor, and only the columns whose source was read. The
package also describes the host for the report, in the record's terms (``resource_view.py``). ``orphans.py`` decides
which old records and providers of this host may be deleted.

Begin with ``record.py``, which decides what to write. ``resource_view.py`` gathers the host's own figures, and
``usage.py`` counts what guests use. ``nova_forms.py`` turns both into Nova's JSON.

Not here: sending the record to nova-conductor (agent/conductor/), the inventories for Placement
(agent/resources/, agent/nested/), and which instances occupy the host (agent/books/occupancy.py).
"""
