"""One audit from its first read to its report. ``run_audit`` calls the steps and returns what the next audit needs.

Begin with run.py. It calls read.py (all sources, each as a Reading), act.py (decide, carry out the plan, try again
after conflicts), remember.py (what the next audit needs) and report.py. act.py calls decide.py, which decides
everything that follows from the snapshot. parts.py has the protocols of everything with a side effect. freshness.py and
current_state.py decide whether nova's rows are current.

Rules do not belong here: the comparison of nova, host and Placement is in agent/books, findings are
in agent/findings, inventories in agent/resources and agent/nested, the provider tree in agent/provider_tree.
agent/daemon decides when audits run. An audit changes only the allocations of the agent's own consumers. agent/healing
changes the allocations of other consumers.
"""
