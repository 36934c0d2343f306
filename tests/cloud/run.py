"""Play lives of the model cloud: ``python -m tests.cloud.run --steps 1000000 --seed 1 --databases lying``.

``--without GUARD`` leaves out a guard of heal, or several with commas between them, and prints at which step of which
life the run failed: it must fail. ``--without each`` does so with one guard after the other. ``--fails-with WORDS``
looks for the rule that one of several left out guards keeps, and passes over the rules of the others.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Mapping

sys.modules["eventlet"] = None  # type: ignore[assignment]

from agent.model.settings import Role  # noqa: E402
from tests.cloud.episode import COMPUTES, LIES, OPERATORS, VERBS  # noqa: E402
from tests.cloud.lives import LENGTH, Life, LifeFailed, play_as_they_are, play_until  # noqa: E402
from tests.cloud.without import GUARDS, IDLE, leave_out  # noqa: E402


def main() -> int:
    """Print progress, and the trace of a failing life."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--databases", choices=["current", "lying"], default="current")
    parser.add_argument("--role", choices=["owner", "companion"], default="owner")
    parser.add_argument("--without", metavar="GUARD", help="leave out this guard of heal, guards a,b or each in turn")
    parser.add_argument("--fails-with", metavar="WORDS", default="", help="only this text in a broken rule counts")
    parser.add_argument("--length", type=int, default=LENGTH)
    wanted = parser.parse_args()
    began = time.process_time()

    def tell(life: Life) -> None:
        if life.number % 1000 == 999:
            print(life.words(time.process_time() - began), flush=True)

    chances = VERBS if wanted.databases == "current" else VERBS | LIES
    role = Role(wanted.role)
    chances = chances | OPERATORS | (COMPUTES if role is Role.COMPANION else {})
    if wanted.without:
        return left_out(wanted, chances, role)
    life = play_until(wanted.steps, wanted.seed, wanted.length, tell, chances, role)
    print(life.words(time.process_time() - began))
    return 0


def left_out(wanted: argparse.Namespace, chances: Mapping[str, float], role: Role) -> int:
    """Leave out the guards, each run in a process of its own; return 1 if a run without them succeeds."""
    fork = multiprocessing.get_context("fork")
    each = [guard for guard in GUARDS if guard not in IDLE[role]]
    green = 0
    for guards in each if wanted.without == "each" else [wanted.without]:
        child = fork.Process(target=_without, args=(guards, wanted, chances, role))
        child.start()
        child.join()
        green += child.exitcode == 0
    return min(green, 1)


def _without(guards: str, wanted: argparse.Namespace, chances: Mapping[str, float], role: Role) -> None:
    leave_out(guards)
    how = (wanted.steps, wanted.seed, wanted.length, lambda _life: None, chances, role, wanted.fails_with)
    try:
        life = play_as_they_are(*how)
    except LifeFailed as failed:
        print(f"without {guards}: {str(failed)[:200]}", flush=True)
        sys.exit(1)
    print(f"without {guards}: nothing fails in {life.tally.steps} steps", flush=True)


if __name__ == "__main__":
    sys.exit(main())
