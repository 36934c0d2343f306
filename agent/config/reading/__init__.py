"""The rules for option values: each module checks the options of one subject and turns them into settings.

Begin reading in ``problems`` (how a module reports its problems) and ``tolerance`` (why a wrong value in nova.conf
is sometimes only a notice); ``tpm`` is a small complete example.
A module raises ConfigError with all of its problems at once. It may also yield notices, which the daemon logs at
start. ``agent/config/build.py`` calls the modules and collects the problems.

What does not belong here: definitions of options are in ``agent/config/options``. Only ``host_checks`` examines the
machine. Whether a CPU or a PCI device of the configuration exists is decided at the audit.
"""
