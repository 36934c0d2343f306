"""Halves: a secret that is cut by the bound on quoted text, and a character of which JSON has one surrogate only."""

import json

import pytest

from agent.errors import PlacementUnavailable
from agent.placement.http.answers import Reply, quoted

TOKEN = "a-token-of-no-known-form"


def reply(text: str) -> Reply:
    return Reply(request="GET http://placement.example/", status=200, text=text, request_id=None)


def test_an_excerpt_of_an_error_page_contains_no_secret():
    """An error page contains the agent's token.

    The agent's shortened excerpt of the page contains no part of the token.
    """
    for spaces in range(5970, 6001):
        said = quoted(f"you sent{' ' * spaces}{TOKEN}", (TOKEN,))
        assert "a-tok" not in said
        assert said.startswith("you sent")


def test_the_excerpt_of_an_error_page_omits_indentation():
    """The agent's excerpt of an error page starts with the page's first line and omits indentation."""
    said = quoted("\n".join(f"{' ' * 100}line {number}" for number in range(100)), ("t" * 2000,))
    assert said.startswith("line 0 line 1 line 2")


def test_a_long_page_without_spaces_is_quoted_from_its_start():
    """An error page is one word of 10,000 characters. The agent's error quotes the beginning of the page."""
    assert quoted("x" * 10_000).startswith("xxx")


@pytest.mark.parametrize("half", [r"\ud800", r"\uDC00", r"\ude00\ud83d"])
def test_an_unpaired_surrogate_raises_placement_unavailable(half):
    """A JSON response with one half of a surrogate pair raises PlacementUnavailable."""
    with pytest.raises(PlacementUnavailable, match="not JSON"):
        reply(f'{{"uuid": "{half}"}}').body()


def test_a_surrogate_pair_in_json_becomes_one_character():
    assert reply(json.dumps({"name": "host-😀"})).body() == {"name": "host-😀"}
