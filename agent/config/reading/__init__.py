"""The rules for option values: each module checks the options of one subject and turns them into settings.

Begin with ``tpm``, a small complete example. ``agent/config/problems.py``, which ``tpm`` uses, says why a wrong value
in nova.conf is sometimes only a notice. A module raises one ConfigError with all of its problems. A module may also
yield notices, which the daemon logs at start. ``agent/config/build.py`` calls the modules and collects the problems.

The definitions of options do not belong here: they are in ``agent/config/options``, which also reads groups without a
module in this folder. Only ``host_checks`` examines the machine. Only the audit checks whether the configured CPUs and
PCI devices exist.
"""
