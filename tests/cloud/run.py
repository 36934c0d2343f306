"""Play lives of the model cloud: ``python -m tests.cloud.run --steps 1000000 --seed 1 --databases lying``."""

from __future__ import annotations

import argparse
import sys
import time

sys.modules["eventlet"] = None  # type: ignore[assignment]

from agent.healing import plan  # noqa: E402
from agent.model.settings import Role  # noqa: E402
from tests.cloud.episode import COMPUTES, LIES, VERBS  # noqa: E402
from tests.cloud.lives import LENGTH, Life, play_until  # noqa: E402


def main() -> int:
    """Print progress, and the trace of a failing life."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--databases", choices=["current", "lying"], default="current")
    parser.add_argument("--role", choices=["owner", "companion"], default="owner")
    parser.add_argument("--without", metavar="GUARD", help="leave out this guard of heal: the run must then fail")
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
    if wanted.without:
        leave_out(wanted.without)
    life = play_until(wanted.steps, wanted.seed, wanted.length, tell, chances, role)
    print(life.words(time.process_time() - began))
    return 0


def leave_out(name: str) -> None:
    """Leave out one guard of heal in this process."""
    if name not in {guard.name for guard in plan.BEFORE + plan.AFTER}:
        raise SystemExit(f"no guard of heal is named {name}")
    plan.BEFORE = tuple(guard for guard in plan.BEFORE if guard.name != name)
    plan.AFTER = tuple(guard for guard in plan.AFTER if guard.name != name)


if __name__ == "__main__":
    sys.exit(main())
