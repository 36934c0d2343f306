"""Read the hypervisor through libvirt: CPUs, memory, NUMA cells, guests, devices, capabilities and events.

Begin with host.py: LibvirtHost is the HostSource that every audit reads. events.py has a second connection and
triggers audits; an event carries no facts. Each connection has its own threads, because any libvirt call can hang.

- Domains: domain_cache.py decides which domains to read, domain_xml_cache.py skips equal texts, xml.py parses.
- Capabilities: connection_info.py caches the answers, capabilities.py queries, capability_questions.py decides what
  to query; the modules ``*_xml.py`` parse.
- Devices: devices.py lists, node_device_xml.py parses one device, node_devices.py combines all devices.

Parsers raise only SourceInconsistent, whatever the text. Inventory, traits and PCI placement do not belong here:
see agent/resources, agent/traits and agent/nested.
"""
