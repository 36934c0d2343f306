"""Ask ``stocktake-probe``, a small program that runs as root, for what the agent may not read by itself.

An agent without privileges cannot read LVM. systemd starts one process of stocktake-probe for each connection to a unix
socket, and this package is the client of that socket. Without ``[agent] probe_socket`` no module here is used.

Begin with protocol.py: it has the request, the answer and their limits, without I/O. client.py connects, sends one
request and waits for one answer. runner.py implements the Runner of agent/sources/storage/lvm.py with that client.

What does not belong here: the program itself. That is agent/privileged.
"""
