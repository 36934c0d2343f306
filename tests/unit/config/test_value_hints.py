"""The hint for a refused value, by the type of its option."""

import pytest
from oslo_config import types

from agent.config.options.opts import registered_opts
from agent.config.value_hints import wanted

LIST = "must be a comma-separated list, each item"


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (types.Integer(), "must be a whole number"),
        (types.Integer(min=1), "must be a whole number, at least 1"),
        (types.Port(), "must be a whole number, at least 0, at most 65535"),
        (types.Float(min=0.0, max=1.5), "must be a number, at least 0.0, at most 1.5"),
        (types.Boolean(), "must be true or false"),
        (types.String(choices=["a", "b"]), "must be one of a, b"),
        (types.String(choices=[("a", "the first"), ("b", "the second")]), "must be one of a, b"),
        (types.List(item_type=types.Integer(min=0)), f"{LIST} a whole number, at least 0"),
        (types.List(item_type=types.String(choices=["a", "b"])), f"{LIST} one of a, b"),
        (types.List(), None),
        (types.String(), None),
    ],
)  # fmt: skip
def test_a_hint_describes_the_values_an_option_accepts(kind, said):
    """For a wrong option value, the hint says what is accepted, such as "must be a whole number, at least 1"."""
    assert wanted(kind) == said


def test_every_option_type_that_can_reject_a_value_has_a_hint():
    """A hint tells the operator which values an option accepts."""
    # Types that accept any text have no hint; every other type of the agent's options has one.
    kinds = (opt.type for _, opt in registered_opts() if wanted(opt.type) is None)
    silent = {kind if isinstance(kind, type) else type(kind) for kind in kinds}
    assert silent <= {types.String, types.MultiString, types.List, str}
