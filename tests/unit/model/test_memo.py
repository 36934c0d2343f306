"""The last result of a pure function: returned again for the same arguments, and for no others."""

from __future__ import annotations

import pytest

from agent.model.memo import for_equal_arguments, for_the_same_arguments


def counting(wrapper):
    asked = []

    @wrapper
    def total(*numbers: tuple[int, ...]) -> int:
        asked.append(numbers)
        return sum(map(sum, numbers))

    return total, asked


def test_only_the_last_result_is_cached():
    """The cache returns its last result again for equal arguments. A call with other arguments replaces the result."""
    total, asked = counting(for_equal_arguments)
    assert [total((1, 2)), total(tuple([1, 2])), total((1, 3)), total((1, 2))] == [3, 3, 4, 3]
    assert asked == [((1, 2),), ((1, 3),), ((1, 2),)]


def test_the_cache_computes_anew_for_an_additional_argument():
    """The cache computes anew if a call has one more argument than the last call."""
    total, asked = counting(for_equal_arguments)
    assert [total((1,)), total((1,), ())] == [1, 1]
    assert len(asked) == 2


def test_the_identity_cache_misses_for_an_equal_copy():
    """The identity cache (for_the_same_arguments) computes anew if the argument is an equal copy."""
    total, asked = counting(for_the_same_arguments)
    first, equal = tuple([1, 2]), tuple([1, 2])
    assert [total(first), total(first), total(equal), total(first, equal)] == [3, 3, 3, 6]
    assert len(asked) == 3


@pytest.mark.parametrize("wrapper", [for_equal_arguments, for_the_same_arguments])
def test_an_exception_is_not_cached(wrapper):
    @wrapper
    def fails(number: int) -> int:
        raise ValueError(number)

    for _ in range(2):
        with pytest.raises(ValueError, match="7"):
            fails(7)


@pytest.mark.parametrize("wrapper", [for_equal_arguments, for_the_same_arguments])
def test_a_cached_function_rejects_keyword_arguments(wrapper):
    total, _ = counting(wrapper)
    with pytest.raises(TypeError, match="total takes positional arguments only"):
        total(number=1)


def test_a_parallel_call_does_not_change_a_cached_result():
    """A call of a cached function returns the right result even if another thread calls the function meanwhile."""

    @for_equal_arguments
    def length(word: object) -> int:
        return len(str(word))

    class Interrupting(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            if isinstance(other, Interrupting):
                length("a longer one")
            return str.__eq__(self, other)

    assert [length(Interrupting("one")), length(Interrupting("one"))] == [3, 3]
