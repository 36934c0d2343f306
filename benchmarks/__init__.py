"""Measurements of the agent against its budgets; README.md here says how to run and read them."""

from agent.cmd.daemon import block_modules

# Block eventlet before any oslo import, as the programs do.
block_modules()
