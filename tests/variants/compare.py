"""Judge the two answers to one variant: equal, different on purpose (docs/differences.md), or different."""

from __future__ import annotations

import re
from typing import Any

from tests.variants.both import Answer, Pair, Tree
from tests.variants.draw import Variant

# Scenario 115: the agent marks its providers with its own owner trait.
_OWNERS = {"OWNER_NOVA": "CUSTOM_OWNER_STOCKTAKE"}
# nova-compute looks for a flag that libvirt calls otherwise.
_SSE3 = "HW_CPU_X86_SSE3"
# Scenario 112: nova-compute counts a flag after a minus sign as present.
_OF_FLAG = {
    "-aes": "HW_CPU_X86_AESNI",
    "-avx2": "HW_CPU_X86_AVX2",
    "-sse4.1": "HW_CPU_X86_SSE41",
    "-sse4.2": "HW_CPU_X86_SSE42",
}


def differences(pair: Pair) -> list[str]:
    """Return a sentence for each difference that docs/differences.md does not list."""
    if pair.nova.outcome != "audited":
        return []
    if pair.agent.outcome != "audited":
        return [f"nova-compute starts, and the agent does not: {pair.agent.said}"]
    return _between(_expected(pair.nova.tree, pair.variant), _comparable(pair.agent.tree))


def _between(nova: Tree, agent: Tree) -> list[str]:
    found = [f"{name}: only one of the two has this provider" for name in sorted(nova.keys() ^ agent.keys())]
    for name in sorted(nova.keys() & agent.keys()):
        found += [f"{name}: {line}" for line in _of_provider(nova[name], agent[name])]
    return found


def _of_provider(nova: dict[str, Any], agent: dict[str, Any]) -> list[str]:
    lines = [
        f"{resource_class}: nova-compute {nova['inventories'].get(resource_class)}, "
        f"the agent {agent['inventories'].get(resource_class)}"
        for resource_class in sorted(nova["inventories"].keys() | agent["inventories"].keys())
        if nova["inventories"].get(resource_class) != agent["inventories"].get(resource_class)
    ]
    lines += [f"trait {trait} of nova-compute only" for trait in sorted(nova["traits"] - agent["traits"])]
    lines += [f"trait {trait} of the agent only" for trait in sorted(agent["traits"] - nova["traits"])]
    if nova["parent"] != agent["parent"]:
        lines.append(f"parent: nova-compute {nova['parent']}, the agent {agent['parent']}")
    return lines


def _expected(tree: Tree, variant: Variant) -> Tree:
    """Return nova-compute's tree with the differences that docs/differences.md lists."""
    texts = re.findall(r"cpu_model_extra_flags = ([^;]*)", variant.words().lower())
    flags = {flag.strip() for text in texts for flag in text.split(",")}
    taken = {trait for flag, trait in _OF_FLAG.items() if flag in flags}
    return {
        name: {
            "parent": provider["parent"],
            "inventories": {key: _as_ours(found) for key, found in provider["inventories"].items()},
            "traits": {_OWNERS.get(trait, trait) for trait in provider["traits"]} - taken - {_SSE3},
        }
        for name, provider in tree.items()
    }


def _as_ours(inventory: dict[str, Any]) -> dict[str, Any]:
    """Return the inventory with the agent's ratio: six digits, and the default of 4.0 for an initial ratio of 0.

    With the ratio 0, Placement accepts a reserve above the total; with any other ratio it does not. So the agent
    reserves the total at most.
    """
    ratio = float(f"{inventory['allocation_ratio']:.6g}")
    if ratio:
        return {**inventory, "allocation_ratio": ratio}
    return {**inventory, "allocation_ratio": 4.0, "reserved": min(inventory["reserved"], inventory["total"])}


def _comparable(tree: Tree) -> Tree:
    return {name: {**provider, "traits": provider["traits"] - {_SSE3}} for name, provider in tree.items()}


def words(answer: Answer) -> str:
    """Return one line about an answer."""
    amounts = [
        f"{resource_class}={record['total']}"
        for provider in answer.tree.values()
        for resource_class, record in sorted(provider["inventories"].items())
    ]
    return " ".join([answer.outcome, answer.said, *amounts][:12]).strip()
