"""Pure functions that compute when audits read and write, and how long they wait.

- full_read_schedule.py (read this first) decides in which audits the agent reads everything from Placement again, even
  though Placement's generations show no change.
- backoff.py computes the waits: after failures, after a generation conflict (another client wrote at the same time),
  and before the first write of a periodic audit.
- splay.py makes the hosts of a fleet act at different times.

No function of this package sleeps, reads a clock or draws a random number: callers pass times and random numbers as
arguments. The deadline of a read is in agent/ports.py, and agent/deadlines enforces deadlines on calls that cannot be
cancelled. For a wait after failures, callers also pass the limits of the wait. The limits of the package's other waits
are in backoff.py.
"""
