"""Play lives of the model cloud: ``python -m tests.cloud.run --steps 1000000 --seed 1 --databases lying``.

``--without GUARD`` leaves out a guard of heal: the run must then fail. ``--without each`` does so with one guard after
the other, and prints at which step of which life each run failed, in the role of ``--role``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Mapping

sys.modules["eventlet"] = None  # type: ignore[assignment]

from agent.model.settings import Role  # noqa: E402
from tests.cloud.episode import COMPUTES, LIES, VERBS  # noqa: E402
from tests.cloud.lives import LENGTH, Life, LifeFailed, play_as_they_are, play_until  # noqa: E402
from tests.cloud.without import GUARDS, leave_out  # noqa: E402


def main() -> int:
    """Print progress, and the trace of a failing life."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--databases", choices=["current", "lying"], default="current")
    parser.add_argument("--role", choices=["owner", "companion"], default="owner")
    parser.add_argument("--without", metavar="GUARD", help="leave out this guard of heal, or each in turn")
    parser.add_argument("--length", type=int, default=LENGTH)
    wanted = parser.parse_args()
    began = time.process_time()

    def tell(life: Life) -> None:
        if life.number % 1000 == 999:
            print(life.words(time.process_time() - began), flush=True)

    chances = VERBS if wanted.databases == "current" else VERBS | LIES
    role = Role(wanted.role)
    if role is Role.COMPANION:
        chances = chances | COMPUTES
    if wanted.without == "each":
        return each_left_out(wanted, chances, role)
    if wanted.without:
        leave_out(wanted.without)
    life = play_until(wanted.steps, wanted.seed, wanted.length, tell, chances, role)
    print(life.words(time.process_time() - began))
    return 0


def each_left_out(wanted: argparse.Namespace, chances: Mapping[str, float], role: Role) -> int:
    """Leave out one guard after the other, each in a process of its own; return 1 if a run without one succeeds."""
    fork = multiprocessing.get_context("fork")
    green = 0
    for guard in GUARDS:
        child = fork.Process(target=_without, args=(guard, wanted, chances, role))
        child.start()
        child.join()
        green += child.exitcode == 0
    return min(green, 1)


def _without(guard: str, wanted: argparse.Namespace, chances: Mapping[str, float], role: Role) -> None:
    leave_out(guard)
    try:
        life = play_as_they_are(wanted.steps, wanted.seed, wanted.length, lambda _life: None, chances, role)
    except LifeFailed as failed:
        print(f"without {guard}: {str(failed)[:200]}", flush=True)
        sys.exit(1)
    print(f"without {guard}: nothing fails in {life.tally.steps} steps", flush=True)


if __name__ == "__main__":
    sys.exit(main())
