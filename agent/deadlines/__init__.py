"""Enforce a deadline on calls that cannot be cancelled, and on sockets whose own time-out is not enough.

A hung libvirt daemon, a dead network mount or a stalled name look-up must not block an audit. This package has two
modules that stop the wait at a deadline. The deadline itself is ``Deadline`` in agent/ports.py.

Begin with reader_thread.py, which runs a blocking call on a separate thread and stops waiting at the deadline.
bounded_reads.py limits the total time of all reads from one socket. PyMySQL's connection and the HTTP client of
Placement use that module.

This package imports none of the libraries that sources use. agent/sources, agent/conductor and agent/placement import
this package, and this package must not import them. Intervals, back-off and schedules are in agent/timing.
"""
