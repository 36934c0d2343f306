"""Read the host's storage: volume groups, file systems, Ceph, persistent memory and guests' disk files.

Each source implements StorageSource or, for disk files, ImageSource of agent/ports.py and returns StorageFacts:

- lvm.py runs ``vgs`` and ``lvs``. Begin here: its SubprocessRunner also runs the commands of the next two modules.
- ceph.py runs ``ceph df``, and ndctl.py runs ``ndctl list``.
- filesystem.py calls statvfs on a reader thread; mounts.py identifies a file system.
- images.py measures guests' disks and nova's ``instances_path``, by means of disk_files.py, qcow2_header.py,
  image_walk.py and shared_storage.py.

The modules ``*_json.py`` parse what the commands print. All sizes are bytes. A source that cannot read raises
SourceError. agent/books decides who owns the bytes, and agent/resources what the agent publishes.
"""
