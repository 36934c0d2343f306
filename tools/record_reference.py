#!/usr/bin/env python3
"""Record what a real nova-compute writes to Placement, and all its inputs: tests/golden/reference/.

    tools/record_reference.py --reference DIR --output tests/golden/reference [NAME...]

DIR is the folder of a running stack of keystone, Placement, nova's control services and libvirtd, with its ``venv/``
and ``etc/nova/``; the stack's own nova-compute must be stopped. Each configuration starts with an empty provider tree:
the tool **deletes** the compute provider of this machine from Placement and from the cell database. So use a stack
without instances. The stack's nova-compute makes its provider again at its next start.
"""

import argparse
import sys
from pathlib import Path

from reference_recorder.configurations import CONFIGURATIONS
from reference_recorder.golden import Golden
from reference_recorder.session import record
from reference_recorder.stack import Stack


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", type=Path, required=True, metavar="DIR", help="folder of the running stack")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="where the recordings go")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these configurations")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.names) - {configuration.name for configuration in CONFIGURATIONS}):
        parser.error(f"no configuration named {', '.join(unknown)}")
    stack = Stack(arguments.reference.resolve())
    stack.check()
    golden = Golden(arguments.output)
    for configuration in CONFIGURATIONS:
        if not arguments.names or configuration.name in arguments.names:
            recording = record(stack, configuration)
            golden.write(configuration, recording)
            print(f"{configuration.name}: {recording.told()}", flush=True)
    golden.drop_unused()
    return 0


if __name__ == "__main__":
    sys.exit(main())
