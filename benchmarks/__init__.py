"""Measurements of the agent against its budgets; README.md here says how to run and read them."""

from agent.cmd.daemon import choose_backend

# Choose the backend before any oslo import, as the programs do.
choose_backend()
