"""Scenarios 80 and 81: CPU lists that are impossible, and lists that exclude one another."""

import pytest

from agent.config.reading.cpu_sets import cpu_notices, cpu_sets
from agent.errors import ConfigError
from tests.rigs.configs import ALONE, load_beside_nova, load_ours


def refusals(tmp_path, text):
    with pytest.raises(ConfigError) as caught:
        cpu_sets(load_ours(tmp_path, ALONE + text))
    return caught.value.problems


def test_s81_excluded_cpus_are_not_in_the_set(tmp_path):
    """`cpu_shared_set = 1-4,^3,6` means the CPUs 1, 2, 4 and 6."""
    sets = cpu_sets(load_ours(tmp_path, ALONE + "[compute]\ncpu_shared_set = 1-4,^3,6\n"))
    assert (sets.shared, sets.dedicated, sets.pinned) == ((1, 2, 4, 6), None, None)


@pytest.mark.parametrize("text", ["3-1", "0-1,^0-1", "1-x", "0x1", "-1"])
@pytest.mark.parametrize(
    ("group", "option"),
    [("compute", "cpu_shared_set"), ("compute", "cpu_dedicated_set"), ("DEFAULT", "vcpu_pin_set")],
)
def test_s81_an_invalid_cpu_list_is_rejected(tmp_path, group, option, text):
    """The error about an invalid CPU list such as `3-1` shows the file, the option and the list."""
    (problem,) = refusals(tmp_path, f"[{group}]\n{option} = {text}\n")
    assert problem.startswith(f"{tmp_path}/stocktake.conf: [{group}] {option} = {text}: ")


def test_s80_a_cpu_in_both_cpu_sets_is_rejected(tmp_path):
    """The error shows cpu_shared_set, cpu_dedicated_set and the CPU that both lists contain."""
    (problem,) = refusals(tmp_path, "[compute]\ncpu_shared_set = 0-1\ncpu_dedicated_set = 1-3\n")
    path = f"{tmp_path}/stocktake.conf"
    assert problem == (
        f"{path}: [compute] cpu_dedicated_set = 1-3 and {path}: [compute] cpu_shared_set = 0-1: "
        "CPUs 1 are in both lists"
    )


@pytest.mark.parametrize("option", ["cpu_shared_set", "cpu_dedicated_set"])
def test_s80_reserved_host_cpus_with_a_cpu_set_is_rejected(tmp_path, option):
    """The option reserved_host_cpus is rejected if cpu_shared_set or cpu_dedicated_set is set."""
    (problem,) = refusals(tmp_path, f"[DEFAULT]\nreserved_host_cpus = 1\n[compute]\n{option} = 0-3\n")
    assert "[DEFAULT] reserved_host_cpus = 1: cannot be set together with" in problem
    assert f"[compute] {option} = 0-3" in problem


def test_s80_an_overlap_error_shows_both_files(tmp_path):
    """If CPU lists in stocktake.conf and nova.conf overlap, the error shows both files."""
    nova = "[compute]\ncpu_shared_set = 0-1\n"
    with pytest.raises(ConfigError) as caught:
        cpu_sets(load_beside_nova(tmp_path, "[compute]\ncpu_dedicated_set = 1-3\n", nova))
    (problem,) = caught.value.problems
    assert problem.startswith(f"{tmp_path}/stocktake.conf: [compute] cpu_dedicated_set = 1-3 and ")
    assert f"{tmp_path}/nova.conf: [compute] cpu_shared_set = 0-1" in problem


LISTS = [("compute", "cpu_shared_set"), ("compute", "cpu_dedicated_set"), ("DEFAULT", "vcpu_pin_set")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0-1,0", "CPU 0 is named twice"),
        ("7,7,7", "CPU 7 is named twice"),
        ("0-3, 2-5 ,5", "CPUs 2-3,5 are named twice"),
        ("0-3,2,^2", "CPU 2 is named twice"),
    ],
)
@pytest.mark.parametrize(("group", "option"), LISTS)
def test_a_repeated_cpu_in_a_list_is_rejected(tmp_path, group, option, text, said):
    """A CPU list such as `0-1,0` is rejected, and the error shows the number of the repeated CPU."""
    (problem,) = refusals(tmp_path, f"[{group}]\n{option} = {text}\n")
    assert problem == f"{tmp_path}/stocktake.conf: [{group}] {option} = {text}: {said}"


@pytest.mark.parametrize(("text", "cpus"), [("1-4,^3,6", (1, 2, 4, 6)), ("^3,1-4,^3-5,,6,", (1, 2, 6))])
def test_an_exclusion_wins_over_an_inclusion(tmp_path, text, cpus):
    """In a CPU list, `^3` removes CPU 3, whether it stands before or after the range with CPU 3."""
    assert cpu_sets(load_ours(tmp_path, f"{ALONE}[compute]\ncpu_shared_set = {text}\n")).shared == cpus


def test_all_invalid_cpu_lists_are_in_one_error(tmp_path):
    text = "[DEFAULT]\nvcpu_pin_set = a\n[compute]\ncpu_shared_set = b\ncpu_dedicated_set = c\n"
    assert len(refusals(tmp_path, text)) == 3


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("+1", (1,)),
        ("1_0", (10,)),
        ("0000000", (0,)),
        ("0-+2,^ +1", (0, 2)),
        ("٣", (3,)),
        ("0-1,^100000", (0, 1)),
        ("7,^70000-80000", (7,)),
    ],
)
def test_nova_conf_cpu_lists_are_parsed_as_nova_does(tmp_path, text, cpus):
    """The agent accepts unusual numbers in nova.conf's CPU lists, such as `+1` and `1_0`, as nova-compute does."""
    assert cpu_sets(load_beside_nova(tmp_path, "", f"[compute]\ncpu_shared_set = {text}\n")).shared == cpus


@pytest.mark.parametrize("text", ["0x1", "1.5", "-1", "1-", "3-1", "100000"])
def test_an_impossible_cpu_list_of_nova_conf_is_rejected(tmp_path, text):
    """A cpu_shared_set in nova.conf with a number such as `1.5`, `-1` or `100000` is rejected."""
    with pytest.raises(ConfigError):
        cpu_sets(load_beside_nova(tmp_path, "", f"[compute]\ncpu_shared_set = {text}\n"))


def test_an_oddly_written_cpu_list_causes_a_notice(tmp_path):
    """For `1_0,^+3` in nova.conf, a notice shows that the agent reads the list as `10,^3`."""
    loaded = load_beside_nova(tmp_path, "", "[compute]\ncpu_shared_set = 1_0,^+3\n")
    (notice,) = cpu_notices(loaded)
    assert notice.startswith(f"{tmp_path}/nova.conf: [compute] cpu_shared_set = 1_0,^+3: a number is not plain digits")
    assert notice.endswith("the agent reads the list as 10,^3")
