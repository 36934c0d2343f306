"""The ancestors of a provider, in correct trees and in broken ones."""

from __future__ import annotations

import pytest

from agent.model.ancestry import ancestors


def test_the_nearest_comes_first_and_nobody_beside():
    parents = {"root": None, "beside": "root", "child": "root", "grandchild": "child"}
    assert ancestors("grandchild", parents) == ("child", "root")
    assert ancestors("root", parents) == ()


def test_it_ends_below_what_is_not_known():
    assert ancestors("b", {"b": "a", "a": "nobody"}) == ("a",)
    assert ancestors("nobody", {"a": None}) == ()


@pytest.mark.parametrize(
    ("uuid", "above"), [("self", ("self",)), ("e", ("f", "e")), ("f", ("e", "f")), ("below", ("e", "f"))]
)
def test_a_loop_is_walked_once_and_who_is_in_it_is_above_itself(uuid, above):
    assert ancestors(uuid, {"self": "self", "e": "f", "f": "e", "below": "e"}) == above
