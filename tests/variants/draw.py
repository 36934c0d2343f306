"""Draw random nova.conf variants; a seed always draws the same ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tests.variants.values import ACCEPTED, REFUSED, Choice

#: The part of the variants that have a value which nova-compute refuses.
_REFUSED_SHARE = 0.15
_MOST_SUBJECTS = 7


@dataclass(frozen=True, slots=True)
class Variant:
    """One random configuration: the subjects that it sets, and its choices."""

    number: int
    choices: tuple[Choice, ...]

    def text(self, common: str) -> str:
        """Return nova.conf: the common lines, then the drawn ones, each section as often as it comes."""
        drawn = "".join(f"[{section}]\n{line}\n" for choice in self.choices for section, line in choice.lines)
        return common + drawn

    def provider_files(self) -> tuple[str, ...]:
        """Return the texts of the provider.yaml files."""
        return tuple(choice.provider_file for choice in self.choices if choice.provider_file is not None)

    def words(self) -> str:
        """Return the drawn lines as one line."""
        parts = [f"[{section}] {line}" for choice in self.choices for section, line in choice.lines]
        parts += ["provider.yaml"] * len(self.provider_files())
        return "; ".join(parts)


def variants(seed: int, *, with_group: bool) -> Iterator[Variant]:
    """Yield variants without end; ``with_group``: the rig's volume group exists."""
    rng = random.Random(seed)
    number = 0
    while True:
        choices = _drawn(rng)
        if with_group or not any(choice.needs_group for choice in choices):
            yield Variant(number, choices)
            number += 1


def each_alone(*, with_group: bool) -> Iterator[Variant]:
    """Yield a variant for every single choice."""
    choices = [*(choice for subject in ACCEPTED.values() for choice in subject), *REFUSED]
    usable = [choice for choice in choices if with_group or not choice.needs_group]
    yield from (Variant(number, (choice,)) for number, choice in enumerate(usable))


def _drawn(rng: random.Random) -> tuple[Choice, ...]:
    subjects = rng.sample(sorted(ACCEPTED), rng.randint(2, _MOST_SUBJECTS))
    choices = [rng.choice(ACCEPTED[subject]) for subject in subjects]
    if rng.random() < _REFUSED_SHARE:
        # The refused value comes last, so no other line of its option follows and hides it.
        choices.append(rng.choice(REFUSED))
    return tuple(choices)
