import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.host.cpuset import HIGHEST_CPU, parse_cpu_list, render_cpu_list

CPUS = st.sets(st.integers(0, HIGHEST_CPU), min_size=1, max_size=60) | st.sets(st.integers(0, 40), min_size=1)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("1-4,^3,6", (1, 2, 4, 6)),  # scenario 81
        ("^3,1-4", (1, 2, 4)),
        ("4-12,^8,15", (4, 5, 6, 7, 9, 10, 11, 12, 15)),
        ("0-7,^2-4", (0, 1, 5, 6, 7)),
        (" 3 , 1 - 2 ,, 2,", (1, 2, 3)),
        ("0", (0,)),
    ],
)
def test_parse_cpu_list_expands_ranges_and_exclusions(text, cpus):
    """The text "1-4,^3,6" gives the CPUs 1, 2, 4 and 6."""
    assert parse_cpu_list(text) == cpus


@pytest.mark.parametrize(
    "text",
    ["3-1", "0-1,^0-1", "", ",", "a", "1-b", "-3", "3-", "1-2-3", "^", "1.5", "+1", "1_0", "٣", "0-99999999999", "^1"],
)
def test_parse_cpu_list_rejects_an_invalid_list(text):
    with pytest.raises(ValueError, match=r"."):
        parse_cpu_list(text)


@pytest.mark.parametrize(("cpus", "text"), [((6, 1, 2, 4, 3), "1-4,6"), ((0,), "0"), ((), ""), ((2, 3), "2-3")])
def test_render_cpu_list_returns_the_shortest_text(cpus, text):
    """The CPUs 1, 2, 3, 4 and 6 give the text "1-4,6"."""
    assert render_cpu_list(cpus) == text


@given(CPUS)
def test_parsing_a_rendered_cpu_set_returns_the_same_set(cpus):
    assert parse_cpu_list(render_cpu_list(cpus)) == tuple(sorted(cpus))


@given(CPUS, CPUS)
def test_parse_cpu_list_subtracts_the_excluded_cpus(chosen, excluded):
    """CPUs after a ^ are left out, wherever they are in the text. If no CPU is left, ValueError is raised."""
    text = f"^{render_cpu_list(excluded).replace(',', ',^')},{render_cpu_list(chosen)}"
    if chosen - excluded:
        assert set(parse_cpu_list(text)) == chosen - excluded
    else:
        with pytest.raises(ValueError, match="no CPU is left"):
            parse_cpu_list(text)


@given(st.text(alphabet="0123456789-,^ ax", max_size=12))
def test_parse_cpu_list_sorts_or_raises_value_error(text):
    """For random text, parse_cpu_list returns sorted CPU numbers without repetition, or raises ValueError."""
    try:
        cpus = parse_cpu_list(text)
    except ValueError:
        return
    assert cpus
    assert cpus == tuple(sorted(set(cpus)))
