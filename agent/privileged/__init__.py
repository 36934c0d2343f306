"""The program ``stocktake-probe`` reads as root what the agent may not read. Each process answers one request.

systemd accepts the connections (``Accept=yes``) and starts one process for each; standard input is the connection. The
process reads one line, checks who sent the line, answers with one line, and ends. agent/sources/probe/protocol.py
defines the request line, the answer line and their limits; docs/security.md says which attacks this program must
withstand.

Begin with server.py. trust.py decides which configuration files and which callers the probe accepts, and verbs.py has
one function for each verb.

What does not belong here: writing anything, the network, and any input that names a path, a program or an option.
"""
