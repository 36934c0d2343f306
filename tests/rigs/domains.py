"""Domain XML and test-driver XML written by hand, in the shapes that libvirt prints."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

NOVA_METADATA = """
  <metadata>
    <nova:instance xmlns:nova="http://openstack.org/xmlns/libvirt/nova/{version}">
      <nova:package version="30.0.0"/>
      <nova:name>web-1</nova:name>
      <nova:creationTime>2026-01-05 10:00:00</nova:creationTime>
      <nova:flavor name="{flavor}">
        <nova:memory>{memory_mib}</nova:memory>
        <nova:disk>{root_gib}</nova:disk>
        <nova:swap>{swap_mib}</nova:swap>
        <nova:ephemeral>{ephemeral_gib}</nova:ephemeral>
        <nova:vcpus>{vcpus}</nova:vcpus>
      </nova:flavor>
      <nova:owner><nova:user uuid="u">admin</nova:user><nova:project uuid="p">demo</nova:project></nova:owner>
    </nova:instance>
  </metadata>"""


def nova_metadata(
    vcpus: int,
    memory_mib: int,
    root_gib: int,
    *,
    version: str = "1.1",
    flavor: str = "m1",
    extra: tuple[int, int] = (0, 0),
) -> str:
    """Return the ``<metadata>`` element that nova writes; ``extra`` is (ephemeral GiB, swap MiB)."""
    return NOVA_METADATA.format(
        version=version,
        flavor=flavor,
        vcpus=vcpus,
        memory_mib=memory_mib,
        root_gib=root_gib,
        ephemeral_gib=extra[0],
        swap_mib=extra[1],
    )


def block_disk(path: str, target: str = "vda") -> str:
    """Return a disk on a block device, such as a logical volume."""
    return (
        f"<disk type='block' device='disk'><driver name='qemu' type='raw'/><source dev='{path}'/>"
        f"<target dev='{target}' bus='virtio'/></disk>"
    )


def file_disk(path: str, target: str = "vda") -> str:
    """Return a disk in a file."""
    return (
        f"<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='{path}'/>"
        f"<target dev='{target}' bus='virtio'/></disk>"
    )


def domain_xml(
    name: str,
    *,
    domain_uuid: str | None = None,
    vcpus: int = 1,
    memory_mib: int = 64,
    disks: Iterable[str] = (),
    metadata: str = "",
    kind: str = "test",
    os_type: str = "<type arch='x86_64'>hvm</type>",
    vcpu_element: str | None = None,
    more: str = "",
) -> str:
    """Return one ``<domain>``. Its uuid is derived from the name unless ``domain_uuid`` is set."""
    identity = domain_uuid or str(uuid.uuid5(uuid.NAMESPACE_DNS, name))
    return f"""<domain type='{kind}'>
  <name>{name}</name>
  <uuid>{identity}</uuid>{metadata}
  <memory unit='KiB'>{memory_mib * 1024}</memory>
  <currentMemory unit='KiB'>{memory_mib * 1024}</currentMemory>
  {vcpu_element or f"<vcpu placement='static'>{vcpus}</vcpu>"}
  {more}
  <os>{os_type}</os>
  <on_poweroff>destroy</on_poweroff><on_reboot>restart</on_reboot><on_crash>destroy</on_crash>
  <devices>{"".join(disks)}</devices>
</domain>
"""


def node_xml(*, cpus: int, memory_mib: int, domains: Iterable[str] = ()) -> str:
    """Return a node for ``test:///path``: ``cpus`` logical CPUs in one socket, memory in MiB, running domains."""
    return f"""<node>
  {"".join(domains)}
  <cpu>
    <mhz>2400</mhz><model>x86_64</model>
    <active>{cpus}</active><nodes>1</nodes><sockets>1</sockets><cores>{cpus}</cores><threads>1</threads>
  </cpu>
  <memory>{memory_mib * 1024}</memory>
</node>
"""
