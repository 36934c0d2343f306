"""Read the state of the host and of the cloud: libvirt, nova's cell database and the host's storage.

Each sub-package implements protocols of agent/ports.py: ``libvirt`` has the HostSource and an EventSource,
``nova`` the StateSource, ``storage`` the StorageSources and the ImageSource. agent/cmd/wiring.py builds the
sources, and agent/audit/read.py calls them.

Every source returns frozen values of agent/model. A failed read raises SourceError: an empty value never means failure.
If only a part is unreadable, the value names that part: by an OddDomain in place of a domain, or by texts in the field
``unread`` or ``unreadable``. Modules marked "Pure" parse text or rows without I/O; the modules beside them do the I/O.

Begin with libvirt/host.py. Sources only report facts: agent/resources turns the facts into inventory, and
agent/books and agent/findings compare the facts. Placement's client is in agent/placement, the state source over RPC
in agent/conductor, and the reader of most files in /proc and /sys in agent/host_files/kernel_files.py.
"""
