"""Decide how long a program waits for sources that do not answer, and show the operator which source is awaited.

Begin with caller.py: the daemon asks every source again in each audit, a command waits for a silent source once.
progress.py writes the waits of a command to stderr.
"""
