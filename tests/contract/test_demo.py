"""``stocktake demo`` as a user runs it: the document that scripts read, and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.rigs.wait import until

STOCKTAKE = str(Path(sys.executable).parent / "stocktake")


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [STOCKTAKE, "demo", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        check=False,
    )


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    done = run(folder, "-f", "json")
    assert done.returncode == 0, done.stderr
    assert list(folder.iterdir()) == []
    assert str(folder) not in subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=False).stdout
    return json.loads(done.stdout)  # the whole of stdout, and nothing else on it


def findings(host, code):
    return [f for f in host["audit"]["findings"] if f["code"] == code and f["confirmed"]]


def of_class(rows, name):
    (row,) = [row for row in rows if row["resource_class"] == name]
    return row


def test_all_five_stories_are_shown(document):
    assert [(s["number"], s["shown"]) for s in document["stories"]] == [(n, True) for n in (1, 2, 3, 4, 5)]


def test_story_1_promised_is_16_and_the_evacuated_instance_is_named(document):
    vcpus = [row for row in document["ledger"] if row["resource_class"] == "VCPU"]
    assert sum(row["promised"] or 0 for row in vcpus) == 16
    assert sum(row["recorded"] or 0 for row in vcpus) == 24
    (evacuated,) = [row for row in vcpus if row["promised"] is None and row["recorded"]]
    (finding,) = findings(document, "migration-finished-but-counted")
    assert finding["consumer_uuid"] == evacuated["consumer_uuid"]
    assert evacuated["recorded"] == 8


def test_story_2_the_volume_made_by_hand_is_reserved(document):
    (finding,) = findings(document, "volume-foreign")
    assert finding["facts"]["size_bytes"] == 120 * 2**30
    assert [claim["size_bytes"] for claim in finding["evidence"]] == [120 * 2**30]
    assert of_class(document["inventory"], "DISK_GB")["reserved"] == 120


def test_story_3_max_unit_is_the_number_of_cpus(document):
    vcpu = of_class(document["inventory"], "VCPU")
    assert (vcpu["total"], vcpu["max_unit"], vcpu["allocation_ratio"]) == (48, 48, 4.0)
    assert findings(document, "consumer-on-several-providers")


def test_story_4_the_node_that_no_hypervisor_reports(document):
    assert len(findings(document, "compute-node-orphaned")) == 1


def test_story_5_the_second_host_is_negative_by_its_leaks(document):
    second = document["hosts"]["stocktake-demo-2"]
    assert of_class(second["inventory"], "VCPU")["free"] == -43
    assert of_class(second["inventory"], "DISK_GB")["free"] == -7332
    leaked = {f["consumer_uuid"] for f in findings(second, "allocation-leaked")}
    assert len(leaked) == 7
    over = {f["resource_class"]: f for f in findings(second, "over-capacity")}
    assert set(over) == {"VCPU", "DISK_GB"}
    assert all(uuid in over["VCPU"]["actual"] for uuid in leaked)
    incoming = [r for r in second["ledger"] if r["cause"] == "migration-in" and r["resource_class"] == "VCPU"]
    assert [row["promised"] for row in incoming] == [8]


def test_the_top_level_is_the_first_host(document):
    first = document["hosts"]["stocktake-demo-1"]
    assert {name: document[name] for name in ("audit", "ledger", "inventory")} == first
    assert set(document["hosts"]) == {"stocktake-demo-1", "stocktake-demo-2"}


def test_kept_it_answers_explain_and_ends_as_it_says(tmp_path):
    done = run(tmp_path, "--keep")
    assert done.returncode == 0, done.stderr
    pid = int(re.search(r"Placement is process (\d+)", done.stderr)[1])
    try:
        lvm = re.search(r"export LVM_SYSTEM_DIR=(\S+)", done.stderr)
        environment = {**os.environ, **({"LVM_SYSTEM_DIR": lvm[1]} if lvm else {})}
        config = re.search(r"--config-file (\S+) explain VCPU", done.stderr)[1]
        asked = subprocess.run(
            [STOCKTAKE, "--config-file", config, "explain", "VCPU"],
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
            check=False,
        )
        assert "VCPU promised 16" in asked.stdout
        assert "contributes 0" in asked.stdout
    finally:
        ending = done.stderr[done.stderr.index("End it") :].splitlines()[1:]
        ended = subprocess.run(["sh", "-e", "-c", "\n".join(ending)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert list(tmp_path.iterdir()) == []
    until(lambda: not Path(f"/proc/{pid}").exists(), 10, "Placement has ended")


def test_interrupted_it_leaves_nothing_behind(tmp_path):
    process = subprocess.Popen(
        [STOCKTAKE, "demo"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert process.stderr is not None
    began = time.monotonic()
    for line in process.stderr:
        if "volume group" in line or time.monotonic() - began > 60:
            break
    process.send_signal(signal.SIGINT)
    process.stderr.read()
    assert process.wait(30) != 0
    process.stderr.close()
    assert list(tmp_path.iterdir()) == []
    assert str(tmp_path) not in subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=False).stdout
