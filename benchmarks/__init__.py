"""Measurements of the agent against its budgets; how to run and read them: README.md here."""

from agent.cmd.daemon import choose_backend

# Before anything of oslo is imported, as the programs do it.
choose_backend()
