"""The commands that change something: heal, adopt and undo. They work in their own process, not in the daemon.

Begin with heal_run.py: it audits, plans, and makes the changes that the operator approved. heal_output.py prints the
plan and the results, heal_code.py decides the exit code of heal. adopt_run.py has all of adopt, undo_run.py all of
undo.

Not here: plans, checks and writes (agent/healing), and the signal to the daemon after a change (agent/cmd/wake.py).
"""
