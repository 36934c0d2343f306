"""What the start text of a practice cloud promises about the commands of other projects."""

from __future__ import annotations

import pytest

from agent.demo.practice_text import practice_blocks, practice_document
from agent.render.draw import drawn
from agent.render.layout import PLAIN


@pytest.mark.parametrize(
    ("missing", "promise", "told"),
    [
        ((), "all commands", None),
        (("openstack",), "the `stocktake` commands", "openstack is not installed here"),
        (
            ("openstack", "nova-manage"),
            "the `stocktake` commands",
            "openstack and nova-manage are ",
        ),
    ],
)
def test_the_demo_lists_client_programs_that_are_not_installed(missing, promise, told):
    """If openstack or nova-manage is not installed, the demo says so."""
    document = practice_document(faults=1, seed=1, folder="f", rc={"h": "rc"}, end="e", not_installed=missing)
    said = drawn(practice_blocks(document), PLAIN)
    assert f"You can run {promise} that stocktake prints." in said
    assert ("Run stocktake explain ID instead, with the ID of a finding or the uuid of its instance." in said) == bool(
        missing
    )
    assert told is None or told in said
