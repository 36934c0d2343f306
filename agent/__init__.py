"""Stocktake: a daemon that counts what a hypervisor holds and keeps its inventory in Placement correct.

Begin with agent/audit/run.py: ``run_audit`` is the one function that every trigger and every command calls.
agent/sources, agent/placement and agent/conductor do the I/O, agent/model has the frozen values that they return.
agent/books, agent/findings, agent/resources and agent/provider_tree decide: pure functions of these values.
agent/healing changes allocations, agent/daemon runs audits again and again, agent/cmd has the commands.

Only what several packages share and no package can own is a loose module here: errors, exit codes, the protocols of
sources and writers (ports.py) and the choice of the threading backend. Everything else belongs in a package.
"""
