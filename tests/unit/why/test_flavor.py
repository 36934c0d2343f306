"""Extra specs that nova interprets differently from the request to Placement: ``why`` names each of them."""

from dataclasses import replace

import pytest

from agent.why.flavor import flavor_notes
from tests.rigs.facts import FLAVOR_A


def notes(**specs: str) -> tuple[str, ...]:
    named = tuple((key.replace("__", ":"), text) for key, text in specs.items())
    return flavor_notes(replace(FLAVOR_A, extra_specs=named))


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("resources:VGPU", "x", "is not understood, so the request leaves it out"),
        ("resources:VGPU", "-1", "is not understood"),
        ("resources1:VGPU", "", "is not understood"),
        ("trait:HW_CPU_X86_VMX", "maybe", "is not understood"),
        ("trait:HW_CPU_X86_VMX", "Required", "is not understood"),
        ("hw:numa_nodes", "ü", "is not understood"),
        ("hw:numa_nodes", "0", "is not understood"),
        ("hw:numa_nodes", " 2", "is not understood"),
        ("hw:mem_page_size", "huge", "is not understood"),
        ("hw:mem_page_size", "Large", "is not understood"),
        ("hw:mem_page_size", "8Gb", "is not understood"),
        ("resources1:VGPU", "1", "extra spec resources1:VGPU: only the sum of all groups is checked"),
        ("trait_GPU:CUSTOM_X", "required", "extra spec trait_GPU:CUSTOM_X: not checked"),
        ("hw:cpu_thread_policy", "require", "extra spec hw:cpu_thread_policy: not checked"),
        ("pci_passthrough:alias", "gpu:1", "extra spec pci_passthrough:alias: not checked"),
    ],
)
def test_a_note_shows_an_extra_spec_that_is_not_fully_checked(key, text, said):
    """`stocktake why` prints a note about each extra spec of a flavor that it does not check completely."""
    (line,) = notes(**{key: text})
    assert said in line
    assert key in line


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("resources:VGPU", "1"),
        ("resources:VCPU", "0"),
        ("trait:HW_CPU_X86_VMX", "required"),
        ("trait:HW_CPU_X86_VMX", "forbidden"),
        ("hw:numa_nodes", "2"),
        ("hw:mem_page_size", "2048"),
        ("hw:mem_page_size", "1GB"),
        ("hw:mem_page_size", "large"),
        ("hw:mem_page_size", "any"),
        ("quota:cpu_shares", "x"),
        ("trait", "x"),
    ],
)
def test_a_checked_or_unrelated_extra_spec_causes_no_note(key, text):
    """`stocktake why` prints no note about an extra spec that it fully checks, or that does not concern the request."""
    assert notes(**{key: text}) == ()


def test_one_note_lists_the_extra_specs_of_all_groups():
    """One note of `stocktake why` lists the extra specs of all groups: `resources1:VGPU`, then `resources2:VGPU`."""
    (line,) = notes(**{"resources2:VGPU": "1", "resources1:VGPU": "1"})
    assert line.startswith("extra specs resources1:VGPU, resources2:VGPU: ")
