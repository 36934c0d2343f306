"""Scenarios 80 and 81: CPU lists that are impossible, and lists that exclude one another."""

import pytest

from agent.config.reading.cpu_sets import cpu_notices, cpu_sets
from agent.errors import ConfigError
from tests.rigs.configs import ALONE, load_beside_nova, load_ours


def refusals(tmp_path, text):
    with pytest.raises(ConfigError) as caught:
        cpu_sets(load_ours(tmp_path, ALONE + text))
    return caught.value.problems


def test_s81_cpus_excluded_from_a_cpu_list_are_not_in_the_set(tmp_path):
    sets = cpu_sets(load_ours(tmp_path, ALONE + "[compute]\ncpu_shared_set = 1-4,^3,6\n"))
    assert (sets.shared, sets.dedicated, sets.pinned) == ((1, 2, 4, 6), None, None)


@pytest.mark.parametrize("text", ["3-1", "0-1,^0-1", "1-x", "0x1", "-1"])
@pytest.mark.parametrize(
    ("group", "option"),
    [("compute", "cpu_shared_set"), ("compute", "cpu_dedicated_set"), ("DEFAULT", "vcpu_pin_set")],
)
def test_s81_the_error_for_an_invalid_cpu_list_names_its_option(tmp_path, group, option, text):
    (problem,) = refusals(tmp_path, f"[{group}]\n{option} = {text}\n")
    assert problem.startswith(f"{tmp_path}/stocktake.conf: [{group}] {option} = {text}: ")


def test_s80_the_error_for_a_cpu_in_both_cpu_sets_names_both_options(tmp_path):
    (problem,) = refusals(tmp_path, "[compute]\ncpu_shared_set = 0-1\ncpu_dedicated_set = 1-3\n")
    path = f"{tmp_path}/stocktake.conf"
    assert problem == (
        f"{path}: [compute] cpu_dedicated_set = 1-3 and {path}: [compute] cpu_shared_set = 0-1: "
        "CPUs 1 are in both lists"
    )


@pytest.mark.parametrize("option", ["cpu_shared_set", "cpu_dedicated_set"])
def test_s80_reserved_host_cpus_and_a_cpu_set_together_are_rejected(tmp_path, option):
    (problem,) = refusals(tmp_path, f"[DEFAULT]\nreserved_host_cpus = 1\n[compute]\n{option} = 0-3\n")
    assert "[DEFAULT] reserved_host_cpus = 1: cannot be set together with" in problem
    assert f"[compute] {option} = 0-3" in problem


def test_s80_the_error_about_overlapping_cpu_sets_names_the_file_of_each_set(tmp_path):
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
def test_a_cpu_list_that_names_a_cpu_twice_is_rejected_with_the_cpu_number(tmp_path, group, option, text, said):
    (problem,) = refusals(tmp_path, f"[{group}]\n{option} = {text}\n")
    assert problem == f"{tmp_path}/stocktake.conf: [{group}] {option} = {text}: {said}"


@pytest.mark.parametrize(("text", "cpus"), [("1-4,^3,6", (1, 2, 4, 6)), ("^3,1-4,^3-5,,6,", (1, 2, 6))])
def test_a_cpu_that_a_cpu_list_both_includes_and_excludes_is_not_in_the_set(tmp_path, text, cpus):
    assert cpu_sets(load_ours(tmp_path, f"{ALONE}[compute]\ncpu_shared_set = {text}\n")).shared == cpus


def test_all_invalid_cpu_lists_are_reported_in_one_error(tmp_path):
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
def test_nova_conf_cpu_lists_are_parsed_as_nova_compute_parses_them(tmp_path, text, cpus):
    assert cpu_sets(load_beside_nova(tmp_path, "", f"[compute]\ncpu_shared_set = {text}\n")).shared == cpus


@pytest.mark.parametrize("text", ["0x1", "1.5", "-1", "1-", "3-1", "100000"])
def test_a_cpu_list_of_nova_conf_with_an_impossible_number_is_rejected(tmp_path, text):
    with pytest.raises(ConfigError):
        cpu_sets(load_beside_nova(tmp_path, "", f"[compute]\ncpu_shared_set = {text}\n"))


def test_a_notice_shows_how_the_agent_reads_oddly_written_numbers_in_a_cpu_list(tmp_path):
    loaded = load_beside_nova(tmp_path, "", "[compute]\ncpu_shared_set = 1_0,^+3\n")
    (notice,) = cpu_notices(loaded)
    assert notice.startswith(f"{tmp_path}/nova.conf: [compute] cpu_shared_set = 1_0,^+3: a number is not plain digits")
    assert notice.endswith("the agent reads the list as 10,^3")
