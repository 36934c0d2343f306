"""The peak memory of the installed daemon under a hostile server's answers, case by case."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent.demo import cell
from tests.rigs.domains import node_xml
from tests.rigs.gateway import Answer, Asked, Gateway, gateway
from tests.rigs.host import AgentHost, Daemon, host_on
from tests.rigs.placement import Rest
from tests.rigs.programs import INSTALLED

MIB = 2**20
MOST_MIB = 150
# The limit for 3,400 findings with three claims each, and as many rows of the cell database; measured: 153 MiB.
MOST_LEAKED_MIB = 200
SIZE = 16 * MIB
GZIP = (("Content-Type", "application/json"), ("Content-Encoding", "gzip"))


def filled(piece: bytes, before: bytes = b"[", after: bytes = b"]") -> bytes:
    """Return a document of almost 16 MiB: ``piece`` repeated, with commas in between."""
    count = (SIZE - len(before) - len(after)) // (len(piece) + 1)
    return before + b",".join([piece] * count) + after


def numbered(piece: str, before: bytes, after: bytes, size: int = SIZE) -> bytes:
    """Return a document of pieces that all differ: a number replaces ``%x`` in each ``piece``."""
    count = (size - len(before) - len(after)) // (len(piece % 0xFFFFFF) + 1)
    return before + b",".join((piece % number).encode() for number in range(count)) + after


def allocations(piece: str, size: int = SIZE) -> bytes:
    return numbered(piece, b'{"allocations":{', b'},"resource_provider_generation":0}', size)


HELD = '"%08x-0000-4000-8000-000000000000":{"resources":{"VCPU":4,"DISK_GB":40},"consumer_generation":1}'
ONE_CLASS = '"%08x-0000-4000-8000-000000000000":{"resources":{"VCPU":4},"consumer_generation":1}'
TRAITS = (b'{"resource_provider_generation":0,"traits":[', b"]}")
CLASSES = (b'{"resource_provider_generation":0,"inventories":{', b"}}")
OF_ONE = (b'{"resource_provider_generation":0,"allocations":{"u":{"consumer_generation":1,"resources":{', b"}}}}")
BODIES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "empty lists": ("allocations", lambda: filled(b"[]")),
    "lists in lists": ("allocations", lambda: filled(b"[" * 900 + b"]" * 900)),
    "objects in objects": ("allocations", lambda: filled(b'{"a":{}}')),
    "one member each": ("allocations", lambda: numbered('{"%x":1}', b"[", b"]")),
    "long integers": ("allocations", lambda: filled(b"9" * 4000)),
    "one wide character": ("allocations", lambda: b'"' + b"a" * (SIZE - 8) + "\U0001f600".encode() + b'"'),
    "one wide escape": ("allocations", lambda: b'"' + b"a" * (SIZE - 16) + b'\\ud83d\\ude00"'),
    "halves of characters": ("allocations", lambda: filled(b'"\\ud83d"')),
    "no JSON at its end": ("allocations", lambda: b'{"allocations": {"' + b"a" * (SIZE - 64)),
    "blanks": ("allocations", lambda: b" " * SIZE),
    "allocations": ("allocations", lambda: allocations(HELD)),
    "as many allocations as JSON may have": ("allocations", lambda: allocations(HELD, 3 * MIB)),
    "as many allocations as a tree may have": ("allocations", lambda: allocations(HELD, len(HELD % 0) * 5_950)),
    "a consumer of one class each, as many as a tree may have": (
        "allocations",
        lambda: allocations(ONE_CLASS, len(ONE_CLASS % 0) * 11_900),
    ),
    "one consumer's classes": ("allocations", lambda: numbered('"C%x":1', *OF_ONE, 2 * MIB)),
    "traits": ("traits", lambda: numbered('"CUSTOM_%x"', *TRAITS, 6 * MIB)),
    "as many traits as a tree may have": ("traits", lambda: numbered('"CUSTOM_%x"', *TRAITS, 11_900 * 16)),
    "inventories": ("inventories", lambda: numbered('"CUSTOM_%x":{"total":8}', *CLASSES, 5 * MIB)),
    "as many inventories as a tree may have": (
        "inventories",
        lambda: numbered('"CUSTOM_%x":{"total":8}', *CLASSES, 11_900 * 28),
    ),
}


def packed(times: int) -> bytes:
    """Return 100 MiB of empty lists in about 100 KiB, packed ``times`` times."""
    packer, body = zlib.compressobj(9, wbits=16 + zlib.MAX_WBITS), b""
    for _ in range(100):
        body += packer.compress(b"[]," * (MIB // 3))
    body += packer.flush()
    for _ in range(times - 1):
        body = zlib.compress(body, wbits=16 + zlib.MAX_WBITS)
    return body


def of_part(part: str, answer: Answer) -> Callable[[Asked], Answer | None]:
    """Return a hook that answers each GET of this part of a provider with ``answer``."""
    return lambda asked: answer if not asked.is_write and asked.path.partition("?")[0].endswith(part) else None


@pytest.fixture
def between(placement: Rest) -> Iterator[Gateway]:
    with gateway(placement.server.url) as made:
        yield made


@pytest.fixture
def host(tmp_path: Path, between: Gateway) -> AgentHost:
    (tmp_path / "node.xml").write_text(node_xml(cpus=4, memory_mib=4096))
    made = host_on(tmp_path, between.url, options={"DEFAULT": {"update_resources_interval": -1}}, launcher=INSTALLED)
    made.configure({"placement": {"full_read_every": 1}})
    made.make_cell().dispose()
    return made


def peak_mib(daemon: Daemon) -> float:
    """Return the daemon's peak memory in MiB: VmHWM, which the kernel keeps."""
    lines = Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def worst(host: AgentHost, between: Gateway, hostile: Callable[[Asked], Answer | None]) -> float:
    """Return the peak memory after two audits with hostile answers, which follow one with good answers."""
    with host.daemon() as daemon:
        daemon.first_audit()
        good = peak_mib(daemon)
        between.before = hostile
        for _ in range(2):
            daemon.audit_now()
        found = peak_mib(daemon)
        print(f"\npeak {good:.0f} MiB with good answers, {found:.0f} MiB with these")
        return found


@pytest.mark.parametrize("case", BODIES)
def test_large_placement_answers_keep_memory_within_150_mib(host, between, case):
    """Placement sends answers of up to 16 MiB with extreme content; the daemon's peak memory is at most 150 MiB."""
    part, body = BODIES[case]
    answer = Answer(status=200, body=body())
    assert worst(host, between, of_part(f"/{part}", answer)) <= MOST_MIB


@pytest.mark.parametrize("times", [1, 2])
def test_a_compressed_answer_keeps_memory_within_150_mib(host, between, times):
    """Placement's answer unpacks to 100 MiB; the daemon's peak memory stays at 150 MiB or less."""
    answer = Answer(status=200, body=packed(times), headers=GZIP)
    assert worst(host, between, of_part("/allocations", answer)) <= MOST_MIB


def test_a_long_provider_list_keeps_memory_within_150_mib(host, between):
    """Placement's provider list has 4 MiB; the daemon's peak memory stays at 150 MiB or less."""
    item = '{"uuid":"%08x","name":"n","generation":1,"parent_provider_uuid":null}'
    body = numbered(item, b'{"resource_providers":[', b"]}", 4 * MIB)
    answer = Answer(status=200, body=body)
    assert worst(host, between, of_part("/resource_providers", answer)) <= MOST_MIB


def test_an_audit_of_3400_leaks_stays_within_200_mib(host, between):
    """The agent reports 3400 allocations of deleted instances with at most 200 MiB of memory."""
    held = {"resources": {"VCPU": 4, "MEMORY_MB": 8192, "DISK_GB": 40}, "consumer_generation": 1}
    instances = [host.instance(f"leaked-{number}", deleted=True) for number in range(3400)]
    with host.rows() as connection:
        for instance in instances:
            cell.add_instance(connection, instance)
    found = {"allocations": {one.uuid: held for one in instances}, "resource_provider_generation": 0}
    hostile = of_part("/allocations", Answer(status=200, body=json.dumps(found).encode()))
    assert worst(host, between, hostile) <= MOST_LEAKED_MIB
    report = host.report()
    assert sum(finding["code"] == "allocation-leaked" for finding in report["audit"]["findings"]) >= 3400
