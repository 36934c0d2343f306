"""Send messages to the broker of OpenStack's message bus, and answer RPC calls there (oslo.messaging).

The package does three things. It sends a notification for each audit and each changed finding. It casts the host's
state to all listeners, such as ``stocktake watch``. It answers the RPC calls ``audit_now``, ``last_report``,
``publish_now`` and ``ping``. docs/messages.md documents every message.

Begin with ``service.py``, which runs the sender thread and the RPC server. ``notices.py`` and ``host_state.py`` build
the documents. ``listener.py`` is the receiving side, which ``stocktake watch`` uses.

What does not belong here: which finding changes are reported (agent/telemetry/finding_changes.py), what an RPC call
does inside the daemon (agent/daemon/), and reading Nova's data through nova-conductor (agent/conductor/).
"""
