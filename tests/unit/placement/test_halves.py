"""Halves: a secret that is cut by the bound on quoted text, and a character of which JSON has one surrogate only."""

import json

import pytest

from agent.errors import PlacementUnavailable
from agent.placement.http.answers import Reply, quoted

TOKEN = "a-token-of-no-known-form"


def reply(text: str) -> Reply:
    return Reply(request="GET http://placement.example/", status=200, text=text, request_id=None)


def test_half_a_secret_is_not_quoted_wherever_a_long_page_is_cut():
    for spaces in range(5970, 6001):
        said = quoted(f"you sent{' ' * spaces}{TOKEN}", (TOKEN,))
        assert "a-tok" not in said
        assert said.startswith("you sent")


def test_of_an_indented_page_with_a_long_token_what_it_says_is_left():
    said = quoted("\n".join(f"{' ' * 100}line {number}" for number in range(100)), ("t" * 2000,))
    assert said.startswith("line 0 line 1 line 2")


def test_a_page_of_one_word_is_quoted_all_the_same():
    assert quoted("x" * 10_000).startswith("xxx")


@pytest.mark.parametrize("half", [r"\ud800", r"\uDC00", r"\ude00\ud83d"])
def test_half_a_character_is_no_answer(half):
    with pytest.raises(PlacementUnavailable, match="not JSON"):
        reply(f'{{"uuid": "{half}"}}').body()


def test_both_halves_are_one():
    assert reply(json.dumps({"name": "host-😀"})).body() == {"name": "host-😀"}
