"""Say what is free now, and what will be free when heal has repaired all that it can repair. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from agent.model.finding import LEAKING
from agent.pages.codes import MISSING
from agent.pages.host.books import ClassBooks
from agent.pages.host.facts import HostFacts
from agent.pages.host.loss import amounts_of
from agent.pages.sizes import beside_its_class


def after_heal(facts: HostFacts, classes: Sequence[ClassBooks]) -> str:
    """Return the sentences; "" if heal changes no amount, or if a source that the amounts depend on is unread."""
    if facts.missing("placement", "state"):
        return ""
    wasted = amounts_of(facts.report, LEAKING, "recorded")
    missing = amounts_of(facts.report, MISSING, "promised")
    changed = [
        (each, each.free)
        for each in classes
        if each.free is not None and (wasted.get(each.resource_class) or missing.get(each.resource_class))
    ]
    texts = [_text(each.resource_class, free, wasted, missing) for each, free in changed]
    if not texts:
        return ""
    return (
        f"After heal, with the wasted amounts removed and the missing ones recorded: {', '.join(texts)}. Use that the "
        "cloud does not know is not part of that."
    )


def _text(name: str, free: float, wasted: dict[str, int], missing: dict[str, int]) -> str:
    after = max(0.0, free + wasted.get(name, 0) - missing.get(name, 0))
    return f"{name} free {beside_its_class(name, after)} (now {beside_its_class(name, max(0.0, free))})"
