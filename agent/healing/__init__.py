"""Change the cloud's allocations and this host's identity, and undo such changes. A journal entry precedes each.

Begin with heal.py: ``prepared`` makes a plan from an audit's result, ``run_heal`` carries out the plan. plan.py decides
without I/O. recheck.py and preconditions.py check again before each change. write.py changes one consumer. reshape.py
moves all allocations of a resource class from the root provider to child providers. after_audit.py and daemon_heal.py
run heal in the daemon.

adopt.py and adopt_plan.py give a host its provider back after a rename or a reinstallation. undo.py finds the function
that undoes a journal entry. ``*_journal.py`` and consumer_json.py define what an entry contains.

Not here: what a repair changes (agent/repairs, one module for each finding code), and the reasons to refuse a repair
(agent/guards). The journal's file is agent/host_files/journal.py. Publishing inventory is part of an audit:
agent/audit/act.py and agent/placement/writer.py.
"""
