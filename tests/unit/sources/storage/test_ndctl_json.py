"""What ``ndctl list -X`` prints: its manual's own example, and anything that a broken ndctl could print."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SourceInconsistent
from agent.model.host.storage import PmemNamespace
from agent.sources.storage.ndctl_json import parse_namespaces
from tests.rigs.ndctl import DEVDAX, EXPECTED

# The namespace of a file system, from the same manual: such a namespace may have a name as well.
FSDAX = {"dev": "namespace1.0", "mode": "fsdax", "name": "fs", "size": 8589934592, "blockdev": "pmem1"}
UNNAMED = {**DEVDAX, "name": ""}

REPORTS = {
    "one": ([DEVDAX], (EXPECTED,)),
    "one without its list": (DEVDAX, (EXPECTED,)),
    "an empty list": ([], ()),
    "a namespace without a name is nobody's": ([UNNAMED, {k: v for k, v in DEVDAX.items() if k != "name"}], ()),
    "a namespace in another mode can be given to no guest": ([FSDAX, DEVDAX], (EXPECTED,)),
    "sorted by name, one name twice": (
        [{**DEVDAX, "name": "b"}, DEVDAX, DEVDAX],
        (
            PmemNamespace(name="b", device_path="/dev/dax0.0", size_bytes=4225761280, alignment_bytes=2097152),
            EXPECTED,
            EXPECTED,
        ),
    ),
}


@pytest.mark.parametrize(("report", "expected"), REPORTS.values(), ids=REPORTS.keys())
def test_only_devdax_namespaces_with_a_name_are_listed(report, expected):
    """The agent lists the namespaces from ndctl that have mode devdax and a name. No guest can use the others."""
    assert parse_namespaces(json.dumps(report, indent=2)) == expected


@pytest.mark.parametrize("text", ["", "\n"])
def test_empty_output_of_ndctl_gives_no_namespaces(text):
    assert parse_namespaces(text) == ()


def _without(*path):
    broken = copy.deepcopy(DEVDAX)
    at = broken
    for key in path[:-1]:
        at = at[key]
    del at[path[-1]]
    return broken


BROKEN = {
    "no JSON": ("ndctl: oops", "the report is not JSON"),
    "nested without end": ("[" * 100_000, "the report is not JSON"),
    "an item that is no object": ("[7]", "a namespace is not a JSON object: 7"),
    "a number": ("7", "a namespace is not a JSON object: 7"),
    "no size": (_without("size"), "namespace 'ns_0': size is None, not a positive byte count"),
    "a size for people": (
        {**DEVDAX, "size": "3.94 GiB (4.23 GB)"},
        "namespace 'ns_0': size is '3.94 GiB (4.23 GB)', not a positive byte count",
    ),
    "a size of nothing": ({**DEVDAX, "size": 0}, "namespace 'ns_0': size is 0, not a positive byte count"),
    "a size that is a truth": ({**DEVDAX, "size": True}, "namespace 'ns_0': size is True, not a positive byte count"),
    "no alignment": (_without("daxregion", "align"), "namespace 'ns_0': align is None, not a positive byte count"),
    "no devices": (_without("daxregion", "devices"), "namespace 'ns_0': daxregion does not name a character device"),
    "no device in the list": (
        {**DEVDAX, "daxregion": {**DEVDAX["daxregion"], "devices": []}},
        "namespace 'ns_0': daxregion does not name a character device",
    ),
    "a device without a name": (
        _without("daxregion", "devices", 0, "chardev"),
        "namespace 'ns_0': daxregion does not name a character device",
    ),
    "a region of another type": ({**DEVDAX, "daxregion": 7}, "namespace 'ns_0': name or daxregion has a wrong type"),
    "a name of another type": ({**DEVDAX, "name": 7}, "namespace 7: name or daxregion has a wrong type"),
}


@pytest.mark.parametrize(("report", "what"), BROKEN.values(), ids=BROKEN.keys())
def test_the_error_for_invalid_ndctl_output_says_why(report, what):
    """If ndctl's output is invalid, the error contains the namespace and its missing or wrong field."""
    text = report if isinstance(report, str) else json.dumps([report])
    with pytest.raises(SourceInconsistent) as raised:
        parse_namespaces(text)
    assert str(raised.value).endswith(f"ndctl list: {what}")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(("name", "size", "daxregion", "devices", "chardev", "align", "mode")), inner, max_size=5
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_random_json_from_ndctl_is_parsed_or_rejected(report):
    """Random JSON from ndctl is parsed or raises SourceInconsistent. It causes no other error."""
    try:
        found = parse_namespaces(json.dumps(report))
    except SourceInconsistent:
        return
    for one in found:
        assert one.name
        assert one.size_bytes > 0
        assert one.alignment_bytes > 0


@given(st.text(alphabet='[]{}":, name7', max_size=40))
def test_random_text_from_ndctl_is_parsed_or_rejected(text):
    """Random text from ndctl is parsed or raises SourceInconsistent. It causes no other error."""
    try:
        parse_namespaces(text)
    except SourceInconsistent:
        return
