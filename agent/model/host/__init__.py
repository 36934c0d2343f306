"""Frozen values about the hypervisor itself: CPUs, memory, guests, devices and storage.

Begin with ``facts.py`` (one read of libvirt, /proc and /sys) and ``storage.py`` (LVM, file systems, disk files, Ceph).
``capabilities.py`` and ``devices.py`` are parts of the facts. ``resource_view.py`` is the host as a compute node
record describes it. ``store.py`` is the file system or volume group that DISK_GB counts, remembered between audits.

Three modules contain rules too, because several packages need the same rule: ``cpuset.py`` parses CPU lists,
``device_match.py`` matches devices to ``[pci] device_spec``, and ``guest_cpu.py`` names the guests' CPU models.

What does not belong here: reading libvirt, /proc or LVM (``agent/sources``, ``agent/host_files``), the inventories
that follow from these facts (``agent/resources``, ``agent/nested``) and the traits (``agent/traits``). Values about
the cloud's state or Placement are one folder up, in ``agent/model``.
"""
