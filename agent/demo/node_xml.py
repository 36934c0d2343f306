"""Write the XML file of libvirt's test driver for one host: its CPUs, its memory and its running guests."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

from agent.demo.cast import Guest, HostCast


def node_xml(host: HostCast) -> str:
    """Return the XML for ``test:///PATH``, with one NUMA node and one socket; each CPU is a core."""
    return f"""<node>
  <cpu>
    <mhz>2400</mhz><model>x86_64</model>
    <active>{host.cpus}</active>
    <nodes>1</nodes><sockets>1</sockets><cores>{host.cpus}</cores><threads>1</threads>
  </cpu>
  <memory>{host.memory_mib * 1024}</memory>
{"".join(_domains(host.group, host.guests))}</node>
"""


def _domains(group: str, guests: Iterable[Guest]) -> Iterable[str]:
    for guest in guests:
        yield f"""  <domain type='test'>
    <name>{escape(guest.name)}</name>
    <uuid>{guest.uuid}</uuid>
    <memory unit='MiB'>{guest.flavor.memory_mib}</memory>
    <vcpu>{guest.flavor.vcpus}</vcpu>
    <os><type>hvm</type></os>
    <devices>
      <disk type='block' device='disk'>
        <source dev='/dev/{group}/{guest.uuid}_disk'/>
        <target dev='vda' bus='virtio'/>
      </disk>
    </devices>
  </domain>
"""
