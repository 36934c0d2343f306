"""The ancestors of a provider, in correct trees and in broken ones."""

from __future__ import annotations

import pytest

from agent.model.ancestry import ancestors


def test_a_providers_ancestors_are_listed_up_to_the_root():
    """The list of a resource provider's ancestors begins with its parent and ends with the root of the tree."""
    parents = {"root": None, "beside": "root", "child": "root", "grandchild": "child"}
    assert ancestors("grandchild", parents) == ("child", "root")
    assert ancestors("root", parents) == ()


def test_the_list_of_ancestors_ends_at_an_unknown_provider():
    """If Placement's data lacks a provider's parent, the provider's list of ancestors ends there without an error."""
    assert ancestors("b", {"b": "a", "a": "nobody"}) == ("a",)
    assert ancestors("nobody", {"a": None}) == ()


@pytest.mark.parametrize(
    ("uuid", "above"), [("self", ("self",)), ("e", ("f", "e")), ("f", ("e", "f")), ("below", ("e", "f"))]
)
def test_a_loop_of_parents_gives_a_finite_list_of_ancestors(uuid, above):
    """If providers are each other's parents, the list of ancestors contains each of them only once."""
    assert ancestors(uuid, {"self": "self", "e": "f", "f": "e", "below": "e"}) == above
