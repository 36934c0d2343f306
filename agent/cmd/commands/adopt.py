"""``stocktake adopt``: give this host its Placement provider back, or accept a new disk store for DISK_GB.

With --store, the operator accepts that DISK_GB is computed from the present disk store. ``--plan DIGEST --yes`` carries
the plan out.
"""

from __future__ import annotations

import argparse

from agent.cmd.commands.base import APPROVAL, DocumentCommand, approved_digest, argument


class Adopt(DocumentCommand):
    """Give a renamed or reinstalled host its Placement provider back, or accept a new disk store for DISK_GB."""

    ARGUMENTS = (
        argument("--store", action="store_true", help="compute DISK_GB from the disk store that this host has now"),
        *APPROVAL,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Return the exit code: 0 nothing to adopt, 2 a source unreachable, 3 a plan shown, 4 carried out, 5 refused.

        Raises UsageError if only one of --plan and --yes is given.
        """
        from agent.cmd.changes.adopt_run import adopt_blocks, adopt_document, adopted, code_of, identity_run, store_run

        digest = approved_digest(parsed_args)
        run = adopted(self.app.options, digest, store_run if parsed_args.store else identity_run)
        document = adopt_document(run)
        self.answer(parsed_args.format, tuple(adopt_blocks(document)), document)
        return code_of(run)
