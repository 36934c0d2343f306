"""[pci] device_spec as text: the meaning of each form, and an error with a reason for every bad entry."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config.options.device_spec import parse_device_specs


def one(**fields):
    (spec,) = parse_device_specs([json.dumps(fields)])
    return spec


def problems(*texts: str) -> tuple[str, ...]:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - its args are looked at
        parse_device_specs(texts)
    return caught.value.args


def matches(spec, address: str) -> bool:
    domain, bus, rest = address.split(":")
    pairs = zip(spec.address_parts, (domain, bus, *rest.split(".")), strict=True)
    return all(re.fullmatch(pattern, part) for pattern, part in pairs)


def test_device_spec_accepts_an_object_or_a_list():
    """An entry of [pci] device_spec is a JSON object or a list of JSON objects."""
    first, second, third = parse_device_specs(
        ['{"vendor_id": "10DE"}', '[{"product_id": " 1eb8 "}, {"address": "81:00.0"}]']
    )
    assert (first.text, first.vendor_id, first.product_id) == ('{"vendor_id": "10DE"}', "10de", "*")
    assert (second.text, second.vendor_id, second.product_id) == ('{"product_id": " 1eb8 "}', "*", "1eb8")
    assert third.text == '{"address": "81:00.0"}'


def test_a_short_vendor_id_is_padded_with_zeros():
    """In [pci] device_spec, the vendor_id `86` or `0x86` means `0086`."""
    assert (one(vendor_id="0x86", product_id="*").vendor_id, one(vendor_id="86").vendor_id) == ("0086", "0086")


ADDRESSES = {
    # nova's documentation: a field that is missing or * matches any value.
    "0000:0a:00.1": (["0000:0a:00.1"], ["0001:0a:00.1", "0000:0a:00.2"], "0000:0a:00.1"),
    "0:A:0.1": (["0000:0a:00.1"], ["0000:0a:00.0"], "0000:0a:00.1"),
    "*:0a:00.*": (["0000:0a:00.1", "00ff:0a:00.7"], ["0000:0a:01.1"], None),
    "0a:00.1": (["0000:0a:00.1", "0003:0a:00.1"], ["0000:0b:00.1"], None),
    ":0a:": (["0000:0a:00.1"], ["0000:0b:00.1"], None),
    ":00.": (["0000:0a:00.1"], ["0000:0a:01.1"], None),
    ".1": (["0000:0a:00.1"], ["0000:0a:00.0"], None),
    "": (["0000:0a:00.1"], [], None),
}


@pytest.mark.parametrize(("text", "yes", "no", "single"), [(k, *v) for k, v in ADDRESSES.items()], ids=ADDRESSES)
def test_an_omitted_address_part_matches_any_value(text, yes, no, single):
    """In a PCI address in [pci] device_spec, a part that is `*` or missing matches any value."""
    spec = one(address=text)
    assert [matches(spec, address) for address in yes] == [True] * len(yes)
    assert [matches(spec, address) for address in no] == [False] * len(no)
    assert spec.single_address == single


EXPRESSIONS = {
    "one part": ({"bus": "02"}, ["0000:02:01.0"], ["0000:03:01.0"], None),
    "from the start, not to the end": ({"bus": "8"}, ["0000:81:00.0", "0000:8f:1f.7"], ["0000:18:00.0"], None),
    "alternatives": ({"slot": "01|1f"}, ["0000:02:01.0", "0000:02:1f.0"], ["0000:02:02.0"], None),
    "a class": ({"function": "[0-2]"}, ["0000:02:01.2"], ["0000:02:01.3"], None),
    "flags": ({"bus": "(?i)0A"}, ["0000:0a:00.0"], ["0000:0b:00.0"], None),
    "a comment": ({"bus": "(?x) 0a # the left riser"}, ["0000:0a:00.0"], ["0000:0b:00.0"], None),
    "case counts": ({"bus": "0A"}, [], ["0000:0a:00.0"], None),
    "all four spelt out": (
        {"domain": "0000", "bus": "02", "slot": "01", "function": "3"},
        ["0000:02:01.3"],
        ["0000:02:01.4"],
        "0000:02:01.3",
    ),
    "nothing": ({}, ["0000:02:01.0"], [], None),
}


@pytest.mark.parametrize(("value", "yes", "no", "single"), EXPRESSIONS.values(), ids=EXPRESSIONS.keys())
def test_address_parts_can_be_regular_expressions(value, yes, no, single):
    """In [pci] device_spec, a PCI address can have a regular expression for domain, bus, slot and function."""
    spec = one(address=value)
    assert [matches(spec, address) for address in yes] == [True] * len(yes)
    assert [matches(spec, address) for address in no] == [False] * len(no)
    assert spec.single_address == single


def test_device_spec_tags_are_sorted_and_read_as_text():
    """The tags of a [pci] device_spec entry, such as `managed`, are sorted by name and read as text."""
    spec = one(
        traits="A,B",
        physical_network=None,
        trusted="true",
        managed="No",
        live_migratable=True,
        one_time_use="on",
        remote_managed="Yes",
        numbered=7,
    )
    assert spec.tags == (
        ("live_migratable", "true"),
        ("managed", "false"),
        ("numbered", "7"),
        ("one_time_use", "true"),
        ("physical_network", None),
        ("remote_managed", "true"),
        ("traits", "A,B"),
        ("trusted", "true"),
    )
    assert spec.tag("physical_network") is None


def test_an_empty_devname_is_treated_as_unset():
    """In [pci] device_spec, an empty devname means the same as no devname."""
    assert (one(devname="eth0").devname, one(devname="").devname) == ("eth0", None)


BAD = {
    "": "not JSON",
    "{": "not JSON",
    "7": "must be a JSON object or a list of objects",
    "[7]": "7: must be a JSON object",
    '{"vendor_id": 8086}': "vendor_id must be text, not 8086",
    '{"vendor_id": "xyz"}': "vendor_id 'xyz' is not a hexadecimal number",
    '{"vendor_id": "-1"}': "vendor_id '-1' is not a hexadecimal number",
    '{"product_id": "10000"}': "product_id '10000' is above ffff",
    '{"address": "10000:81:00.0"}': "'10000' is above ffff",
    '{"address": "100:00.0"}': "'100' is above ff",
    '{"address": "81:20.0"}': "'20' is above 1f",
    '{"address": "81:00.8"}': "'8' is above 7",
    '{"address": "81:0g.0"}': "'0g' is not a hexadecimal number",
    '{"address": "a:b:c:d.0"}': "more parts than domain:bus:slot.function",
    '{"address": 7}': "address must be a string or an object of regular expressions, not 7",
    '{"address": {"bus": "*"}}': "bus in the address is '*', which is not a regular expression",
    '{"address": {"bus": 2}}': "bus of address must be text, not 2",
    '{"address": "81:00.0", "devname": "eth0"}': "one entry cannot have both address and devname",
    '{"devname": ["eth0"]}': "devname must be text",
    '{"managed": "maybe"}': 'managed must be true or false, not "maybe"',
    '{"live_migratable": ""}': "live_migratable must be true or false",
    '{"one_time_use": 2}': "one_time_use must be true or false, not 2",
    '{"traits": ["A"]}': 'traits must be a single value, not ["A"]',
}


@pytest.mark.parametrize(("text", "reason"), BAD.items(), ids=BAD.keys())
def test_an_invalid_device_spec_is_rejected_with_a_reason(text, reason):
    """The error quotes the invalid entry of [pci] device_spec and says what is wrong with it."""
    (problem,) = problems('{"vendor_id": "10de"}', text)
    assert reason in problem
    assert (text.strip("[]") or "''") in problem


def test_all_invalid_device_specs_are_in_one_error():
    """One error lists the problems of all invalid [pci] device_spec entries."""
    found = problems('{"vendor_id": "x", "managed": "m"}', "{}", "nothing")
    assert [text.split(":")[0] for text in found] == ['{"vendor_id"', '{"vendor_id"', "'nothing'"]
    assert ["vendor_id 'x'" in found[0], "managed" in found[1], "not JSON" in found[2]] == [True, True, True]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    ["vendor_id", "product_id", "address", "devname", "managed", "traits", "remote_managed", "one_time_use"]
)
PARTS = st.sampled_from(["domain", "bus", "slot", "function", "other"])
VALUES = JSON | st.dictionaries(PARTS, st.text("0a*.[]()?x|+{}", max_size=6), max_size=3) | st.text("0a:.*", max_size=9)


def parsed(texts):
    """Return the specs, or none if the texts are refused with sentences as the reasons."""
    try:
        return parse_device_specs(texts)
    except ValueError as error:
        if not error.args or not all(isinstance(argument, str) for argument in error.args):
            raise AssertionError(f"refused without a sentence: {error.args}") from error
        return ()


@given(st.lists(st.one_of(st.dictionaries(KEYS, VALUES, max_size=4).map(json.dumps), st.text(max_size=12)), max_size=3))
def test_a_random_device_spec_is_parsed_or_rejected(texts):
    """Random text as [pci] device_spec is parsed or rejected with ValueError; no other exception occurs."""
    for spec in parsed(texts):
        matches(spec, "0000:0a:00.1")
        if spec.single_address:
            assert matches(spec, spec.single_address)


@given(st.from_regex(r"(?:[0-9a-f]|\[0-9\]|[*|+?]|[()]){1,6}", fullmatch=True))
def test_an_address_pattern_matches_like_re_match(pattern):
    """A regular expression for a part of a PCI address selects the same values as Python's `re.match`."""
    try:
        expected = re.match(pattern, "8a")
    except re.error:
        assert "is not a regular expression" in problems(json.dumps({"address": {"bus": pattern}}))[0]
        return
    assert matches(one(address={"bus": pattern}), "0000:8a:00.0") == bool(expected)
