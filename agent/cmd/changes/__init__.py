"""The commands that change something: a run of heal, adopt or undo in the command's own process.

Begin with heal_run.py: it audits, plans, and makes the changes that the operator approved. heal_output.py prints a
run, heal_code.py decides the run's exit code; adopt_run.py and undo_run.py each run a whole command.

Not here: plans, checks and writes (agent/healing), and the signal to the daemon after a change (agent/cmd/wake.py).
"""
