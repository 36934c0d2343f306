"""Read the hypervisor through libvirt: CPUs, memory, NUMA cells, guests, devices, capabilities and events.

Begin with host.py: LibvirtHost is the HostSource that every audit reads. events.py has a second connection and
triggers audits; an event carries no facts. Each connection has its own threads, because any libvirt call can hang.

- Domains: domain_cache.py decides which domains to read, xml.py parses a domain's XML, domain_xml_cache.py avoids
  parsing an unchanged text again.
- Capabilities: capability_questions.py decides what to query, capabilities.py queries libvirt, connection_info.py
  caches the answers.
- Devices: devices.py lists them, node_device_xml.py parses one device, node_devices.py combines all devices.

Parsers (xml.py, ``*_xml.py``) raise only SourceInconsistent, whatever the text. Not in this package: inventory
(agent/resources), traits (agent/traits) and the placement of PCI devices (agent/nested).
"""
