"""The definitions of all options: one module for each option group, with names, types, defaults and help texts.

Begin reading in ``opts``, which lists all groups for ``load`` and for oslo-config-generator.
``dynamic`` defines the groups that exist only with certain values of other options, ``auth`` the options of the
keystoneauth plugin, and ``nova`` the options that are read from nova.conf only.
A module's FROM_NOVA lists the options whose values nova.conf may supply. The module of a small group also checks the
group's values and turns them into settings, as ``heal`` does.

What does not belong here: checks and conversions of several groups are in ``agent/config/reading``.
"""
