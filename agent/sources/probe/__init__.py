"""Ask ``stocktake-probe``, a small program that runs as root, for what the agent may not read by itself.

An agent without privileges cannot read LVM, guests' disk files or domain capabilities. systemd starts one process of
stocktake-probe for each connection to a unix socket, and this package is the client of that socket. Without
``[agent] probe_socket`` no module here is used.

Begin with protocol.py: it has the request, the answer and their limits, without I/O. client.py connects, sends one
request and waits for one answer. With that client, runner.py runs the commands of LVM, Ceph and persistent memory,
storage.py measures file systems and images, and capabilities.py asks libvirt for domain capabilities. facts_json.py
turns the values of storage.py and capabilities.py into JSON and back.

What does not belong here: the program itself. That is agent/privileged.
"""
