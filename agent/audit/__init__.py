"""One audit from its first read to its report: ``run_audit`` calls the steps and keeps nothing between two audits.

Begin with run.py. It calls read.py (all sources, each as a Reading), act.py (decide, carry out the plan, try again
after conflicts), remember.py (the memory for the next audit) and report.py. act.py calls decide.py: everything that
follows from the snapshot. parts.py has the protocols of everything with a side effect; freshness.py and
current_state.py decide whether the rows of the cloud's state are current.

Rules do not belong here: the three books (promised, held, recorded) and their comparison are in agent/books, findings
in agent/findings, inventories in agent/resources and agent/nested, the provider tree in agent/provider_tree.
agent/daemon decides when audits run. An audit changes only the allocations of the agent's own consumers; agent/healing
changes the allocations of other consumers.
"""
