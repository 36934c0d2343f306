"""Decide how long a program waits for sources that do not answer, and show which source a command waits for.

Begin with caller.py, which has two rules. The daemon asks every source again in each audit. A command waits only once
for a source that does not answer, because an operator waits for the command. progress.py writes a command's waits to
stderr.
"""
