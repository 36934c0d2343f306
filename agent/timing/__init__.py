"""When an audit reads or writes: pure functions that turn counts, clocks and random numbers into waits and schedules.

Begin with full_read_schedule.py, which decides in which audits the agent reads Placement again although no generation
changed. backoff.py has the formula of all back-offs, the wait after a generation conflict and the delay of a periodic
audit's first write. splay.py derives from a host's identity at which fraction of a period the host acts, so that
the hosts of a fleet do not act together.

No function of this package sleeps, reads a clock or draws a random number: callers pass times and random numbers as
arguments. The deadline of a read is in agent/ports.py, and agent/deadlines enforces deadlines on calls that cannot be
cancelled. Each module that waits defines the length of its own waits. Only the waits after a conflict are defined here,
in backoff.py.
"""
