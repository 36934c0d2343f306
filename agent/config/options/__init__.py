"""The definitions of all options: one module for each option group, with names, types, defaults and help texts.

Begin reading in ``opts``, which lists all groups for ``load`` and for oslo-config-generator. The module ``dynamic``
defines the groups that exist only with certain values of other options. The module ``auth`` defines the options of the
keystoneauth plugin, and the module ``nova`` defines the options that are read from nova.conf only.

A module's FROM_NOVA lists the options whose values nova.conf may supply. The module of a small group also checks the
group's values and turns them into settings. The module ``heal`` is an example.

What does not belong here: checks that concern several groups (``agent/config/reading``).
"""
