"""What ceph df prints, by release, and which output the parser refuses."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SourceInconsistent
from agent.model.host.storage import CephPool
from agent.sources.storage.ceph_json import parse_pool
from tests.rigs.ceph import LUMINOUS, NAUTILUS, REEF

GIB = 1 << 30


@pytest.mark.parametrize(
    ("report", "pool"),
    [
        (LUMINOUS, CephPool(name="vms", cluster_bytes=3221225472, available_bytes=1017118720, used_bytes=104857600)),
        (
            NAUTILUS,
            CephPool(name="vms", cluster_bytes=322122547200, available_bytes=95563022336, used_bytes=3221422080),
        ),
        (REEF, CephPool(name="vms", cluster_bytes=64424509440, available_bytes=20212629504, used_bytes=805502976)),
    ],
    ids=["Luminous", "Nautilus", "Reef"],
)
def test_ceph_df_output_of_three_releases_is_parsed(report, pool):
    """The agent reads a pool's sizes from recorded output of `ceph df` of Luminous, Nautilus and Reef."""
    assert parse_pool(report, "vms") == pool


def test_the_error_for_a_missing_pool_lists_the_existing_pools():
    """If the Ceph cluster has no pool of the configured name, the error lists the pools that exist."""
    with pytest.raises(SourceInconsistent, match=r"pool gone is not among the cluster's pools \(\.mgr, vms\)"):
        parse_pool(REEF, "gone")


def report(**changes):
    plain = {"stats": {"total_bytes": 9}, "pools": [{"name": "p", "stats": {"max_avail": 1, "bytes_used": 2}}]}
    return json.dumps({**plain, **changes})


BROKEN = {
    "nothing": ("", "the report of ceph df is not JSON"),
    "text": ("2024-01-01 monclient: hunting", "the report of ceph df is not JSON"),
    "cut off": (REEF[:200], "the report of ceph df is not JSON"),
    "nested without end": ("[" * 100000, "the report of ceph df is not JSON"),
    "a list": ("[]", "is not a JSON object"),
    "no pools": ('{"stats": {"total_bytes": 9}}', "no list of pools"),
    "pools of another shape": (report(pools={"p": {}}), "no list of pools"),
    "no pool at all": (report(pools=[]), r"pool p is not among .* \(the cluster has no pool\)"),
    "odd pools": (report(pools=[None, 1, "p", {}]), "pool p is not among"),
    "no cluster": (report(stats=None), "the cluster: total_bytes is null"),
    "a size that is text": (report(stats={"total_bytes": "9"}), 'the cluster: total_bytes is "9"'),
    "a negative size": (report(stats={"total_bytes": -1}), "the cluster: total_bytes is -1"),
    "a manager that has not counted yet": (
        report(stats={"total_bytes": 0}),
        "the cluster: total_bytes is 0, so the cluster's manager has no statistics yet",
    ),
    "a truth": (report(stats={"total_bytes": True}), "the cluster: total_bytes is true"),
    "a fraction": (report(stats={"total_bytes": 9.5}), "the cluster: total_bytes is 9.5"),
    "a pool without numbers": (report(pools=[{"name": "p"}]), "pool p: max_avail is null"),
    "a pool with half of them": (
        report(pools=[{"name": "p", "stats": {"max_avail": 1}}]),
        "pool p: bytes_used is null",
    ),
}


@pytest.mark.parametrize(("text", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_the_error_for_an_invalid_ceph_report_says_why(text, said):
    """If the output of `ceph df` is invalid, the error says which part is missing or wrong."""
    with pytest.raises(SourceInconsistent, match=said):
        parse_pool(text, "p")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["stats", "pools", "name", "total_bytes", "max_avail", "bytes_used"]), inner)
    ),
    max_leaves=20,
)


@given(JSON)
def test_random_json_from_ceph_is_parsed_or_rejected(document):
    """Random JSON as the output of `ceph df` is parsed or raises SourceInconsistent. It causes no other error."""
    with contextlib.suppress(SourceInconsistent):
        parse_pool(json.dumps(document), "p")
