"""Decide how long a program waits for sources that do not answer, and show which source a command waits for.

Begin with caller.py: the daemon asks every source again in each audit; a command waits only once for a source that does
not answer. progress.py writes the waits of a command to stderr.
"""
