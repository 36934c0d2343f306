"""The ancestors of a provider, in correct trees and in broken ones."""

from __future__ import annotations

import pytest

from agent.model.ancestry import ancestors


def test_the_ancestors_of_a_provider_are_listed_from_its_parent_up_to_the_root():
    parents = {"root": None, "beside": "root", "child": "root", "grandchild": "child"}
    assert ancestors("grandchild", parents) == ("child", "root")
    assert ancestors("root", parents) == ()


def test_the_list_of_ancestors_ends_at_an_unknown_provider():
    """The list has a provider's known ancestors in Placement, and ends where a parent is unknown."""
    assert ancestors("b", {"b": "a", "a": "nobody"}) == ("a",)
    assert ancestors("nobody", {"a": None}) == ()


@pytest.mark.parametrize(
    ("uuid", "above"), [("self", ("self",)), ("e", ("f", "e")), ("f", ("e", "f")), ("below", ("e", "f"))]
)
def test_a_provider_in_a_parent_loop_is_its_own_ancestor(uuid, above):
    assert ancestors(uuid, {"self": "self", "e": "f", "f": "e", "below": "e"}) == above
