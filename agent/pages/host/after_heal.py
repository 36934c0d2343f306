"""Say what is free now, and what will be free once heal has repaired all that it can repair.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.model.finding import LEAKING
from agent.pages.codes import MISSING
from agent.pages.host.books import ClassBooks, class_books
from agent.pages.host.facts import HostFacts
from agent.pages.host.loss import amounts_of
from agent.pages.sizes import beside_its_class, with_class
from agent.pages.tables import was_unread
from agent.text.wording import some_of

#: The maximum number of classes that the sentence about the free amounts names.
_MOST = 8


def free_now(facts: HostFacts) -> str:
    """Return a sentence: what the scheduler can still allocate on the host, or why that is not known."""
    known = [(each.resource_class, each.free) for each in class_books(facts)]
    texts = [
        with_class(name, free)
        if free >= 0
        else f"{with_class(name, 0)} ({beside_its_class(name, -free)} over capacity)"
        for name, free in known
        if free is not None
    ]
    unknown = [name for name, free in known if free is None]
    rest = f" Not known: {some_of(unknown, _MOST)}." if unknown else ""
    if texts:
        return f"Free for the scheduler now: {some_of(texts, _MOST)}.{rest}"
    unread = facts.missing("placement")
    return f"The free amounts are not known, because {was_unread(unread)}." if unread else ""


def after_heal(facts: HostFacts, classes: Sequence[ClassBooks]) -> str:
    """Return sentences that say what is free after heal.

    Return "" if heal changes no amount, or if the audit did not read a source that the amounts depend on.
    """
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
        f"After heal: {', '.join(texts)}. "
        "Heal removes needless allocations from Placement, and adds missing allocations of nova's instances. "
        "Heal does not touch guests and volumes that nova does not know."
    )


def _text(name: str, free: float, wasted: dict[str, int], missing: dict[str, int]) -> str:
    after = max(0.0, free + wasted.get(name, 0) - missing.get(name, 0))
    return f"{name}: {beside_its_class(name, after)} free instead of {beside_its_class(name, free)}"
