"""The definitions of all options: one module for each option group, with names, types, defaults and help texts.

Begin reading in ``opts``, which lists all groups for ``load`` and for oslo-config-generator.
``dynamic`` defines the groups that exist only with certain values of other options, ``auth`` the options of the
keystoneauth plugin, and ``nova`` the options that are read from nova.conf only.
A module's FROM_NOVA lists the options whose values nova.conf may supply.

What does not belong here: checks and conversions of values beyond oslo.config's types are in
``agent/config/reading``.
"""
