"""Play lives of the model cloud: ``python -m tests.cloud.run --steps 1000000 --seed 1 --databases lying``."""

from __future__ import annotations

import argparse
import sys
import time

sys.modules["eventlet"] = None  # type: ignore[assignment]

from tests.cloud.episode import LIES, VERBS  # noqa: E402
from tests.cloud.lives import LENGTH, Life, play_until  # noqa: E402


def main() -> int:
    """Print progress, and the trace of a failing life."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--databases", choices=["current", "lying"], default="current")
    parser.add_argument("--length", type=int, default=LENGTH)
    wanted = parser.parse_args()
    began = time.process_time()

    def tell(life: Life) -> None:
        if life.number % 1000 == 999:
            print(life.words(time.process_time() - began), flush=True)

    chances = VERBS if wanted.databases == "current" else VERBS | LIES
    life = play_until(wanted.steps, wanted.seed, wanted.length, tell, chances)
    print(life.words(time.process_time() - began))
    return 0


if __name__ == "__main__":
    sys.exit(main())
