"""The commands that change something: a run of heal, adopt or undo in the command's own process.

Begin with heal_run.py: audits, plan, and the changes that the operator approved. heal_output.py prints a run,
heal_code.py decides its exit code; adopt_run.py and undo_run.py are whole commands.

Not here: plans, checks and writes (agent/healing), and the signal to the daemon after a change (agent/cmd/wake.py).
"""
