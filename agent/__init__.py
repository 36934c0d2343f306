"""Stocktake: a daemon that audits the resource use of a hypervisor and keeps its inventory in Placement correct.

Begin with agent/audit/run.py: the daemon and every command that audits call its function ``run_audit``.
agent/sources, agent/placement and agent/conductor do the I/O and return the frozen values of agent/model.
agent/books, agent/findings, agent/resources and agent/provider_tree compute decisions from these values, without I/O.
agent/healing changes allocations, agent/daemon runs audits repeatedly, and agent/cmd has the commands.

A module is directly in this package only if several packages share it and none can own it: errors, exit codes, the
protocols of sources and writers (ports.py) and the choice of the threading backend. Other modules belong in a package.
"""
