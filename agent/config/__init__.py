"""The configuration: find the files, read every option, check the values and build typed settings from them.

The first modules to read: ``load`` (a value comes from Stocktake's own files, else from nova.conf, else it is the
default), then ``build`` (typed values for each part of the agent, problems and notices) and ``reload`` (SIGHUP).
``options`` defines the options, one module for each option group. The modules of ``reading`` check the values and turn
them into settings; a group with few options has its own small module in this folder. ``problems`` collects the errors.
``unknown`` reports misspelt options; ``blank`` decides what an empty value means.

What does not belong here: the types of an audit's settings are in ``agent/model/settings.py``. The command line
is in ``agent/cmd``. Facts about the host, such as which CPUs are online, come from ``agent/sources`` and
``agent/host_files`` at each audit.
"""
