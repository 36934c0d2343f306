"""Run the two programs: their entry points, and the wiring that builds their parts from a configuration.

``stocktake-agent`` starts in daemon.py, ``stocktake`` in shell.py. Begin with wiring.py: it builds every
source, client and file that an audit uses. registry.py lists the commands of ``stocktake``; commands/ has one
module for each of them. The ``*_run.py`` modules do the work of the larger commands in the command's own process.
logs.py sets up oslo.log, and exit_handling.py turns errors into exit codes.

What does not belong here: the work itself. The audit is in agent/audit, repairs are in agent/healing, the
daemon's threads are in agent/daemon, and the text and JSON of an audit are in agent/render. This package may
import every other package; no other package imports it.
"""
