"""Compare nova-compute and the agent on random nova.conf files: ``python -m tests.variants.run --count 40 --seed 1``.

The command needs root, for libvirt's system daemon and the volume group. It prints a line for each variant and ends
with 1 if there is a difference that docs/differences.md does not list.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.variants.both import bench
from tests.variants.compare import differences, words
from tests.variants.draw import each_alone, variants


def main() -> int:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", action="store_true", help="try every value alone, instead of random variants")
    parser.add_argument("--matching", default="", help="run only the variants with this text")
    wanted = parser.parse_args()
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="variants-") as folder, bench(Path(folder)) as standing:
        drawn = itertools.islice(variants(wanted.seed, with_group=standing.with_group), wanted.count)
        if wanted.each:
            drawn = each_alone(with_group=standing.with_group)
        for variant in drawn:
            if wanted.matching not in variant.words():
                continue
            pair = standing.ask(variant)
            found = differences(pair)
            verdict = "different" if found else "equal" if pair.nova.outcome == "audited" else "refused"
            outcomes[verdict] += 1
            outcomes[f"nova-compute {pair.nova.outcome}, the agent {pair.agent.outcome}"] += 1
            print(f"{variant.number:3} {verdict:9} {variant.words()}")
            if verdict != "equal":
                print(f"      nova-compute {words(pair.nova)}\n      the agent    {words(pair.agent)}")
            print("".join(f"      * {line}\n" for line in found), end="", flush=True)
    print(f"seed {wanted.seed}: " + "; ".join(f"{count} {name}" for name, count in sorted(outcomes.items())))
    return 1 if outcomes["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
