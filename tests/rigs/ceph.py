"""A ``ceph`` script to put into PATH: no cluster runs here, so the script prints or fails as real ``ceph`` does.

The reports have the keys of the releases that they are named after. Their shapes are those of src/mon/PGMap.cc,
dump_cluster_stats and dump_pool_stats. Their numbers are invented; each pool has three copies.
"""

from __future__ import annotations

import pathlib

from agent.sources.storage.lvm import SubprocessRunner
from tests.rigs.lvm import script

LUMINOUS = """
{"stats":{"total_bytes":3221225472,"total_used_bytes":376807424,"total_avail_bytes":2844418048},"pools":[
{"name":"rbd","id":1,"stats":{"kb_used":0,"bytes_used":0,"percent_used":0.00,"max_avail":1017118720,"objects":0}},
{"name":"vms","id":2,"stats":{"kb_used":102400,"bytes_used":104857600,"percent_used":9.35,"max_avail":1017118720,
"objects":28}}]}
"""
NAUTILUS = """
{"stats":{"total_bytes":322122547200,"total_avail_bytes":315667644416,"total_used_bytes":3233677312,
"total_used_raw_bytes":6454902784,"total_used_raw_ratio":0.020038695,"num_osds":3,"num_per_pool_osds":3},
"stats_by_class":{"hdd":{"total_bytes":322122547200,"total_avail_bytes":315667644416,"total_used_bytes":3233677312,
"total_used_raw_bytes":6454902784,"total_used_raw_ratio":0.020038695}},"pools":[
{"name":"vms","id":1,"stats":{"stored":1073807360,"objects":275,"kb_used":3145920,"bytes_used":3221422080,
"percent_used":0.011111,"max_avail":95563022336}}]}
"""
REEF = """
{"stats":{"total_bytes":64424509440,"total_avail_bytes":63500000000,"total_used_bytes":924509440,
"total_used_raw_bytes":924509440,"total_used_raw_ratio":0.0143502950668335,"num_osds":3,"num_per_pool_osds":3,
"num_per_pool_omap_osds":3},"stats_by_class":{"ssd":{"total_bytes":64424509440,"total_avail_bytes":63500000000,
"total_used_bytes":924509440,"total_used_raw_bytes":924509440,"total_used_raw_ratio":0.0143502950668335}},"pools":[
{"name":".mgr","id":1,"stats":{"stored":590368,"objects":2,"kb_used":1732,"bytes_used":1773568,
"percent_used":2.9248e-05,"max_avail":20212629504}},
{"name":"vms","id":2,"stats":{"stored":268435456,"objects":71,"kb_used":786624,"bytes_used":805502976,
"percent_used":0.013110,"max_avail":20212629504}}]}
"""


def ceph(folder: pathlib.Path, body: str) -> SubprocessRunner:
    """Return a runner that finds this ``ceph`` first; every call appends its arguments to ``folder/calls``."""
    script(folder, "ceph", f'echo "$@" >> {folder}/calls\n{body}')
    return SubprocessRunner(environment={"PATH": f"{folder}:/usr/bin:/bin"})


def printing(folder: pathlib.Path, report: str) -> SubprocessRunner:
    """Return a runner whose ``ceph`` prints this healthy report; like the real one it also warns on stderr."""
    folder.mkdir(exist_ok=True)
    (folder / "report.json").write_text(report, encoding="utf-8")
    return ceph(folder, f"echo 'did not load config file, using default settings.' >&2\ncat {folder}/report.json")
