"""Build the small cloud of ``stocktake demo``, with five real problems that the agent's audits must find.

Begin reading in ``cast`` (the hosts, the guests and the faults), then ``cloud`` (builds the cell database,
Placement and the volume groups) and ``stories`` (decides for each problem whether the reports show it).
``outcome`` is the result of a run, and ``document`` turns it into JSON and text.
The tests use ``cell``, ``placement`` and ``volume_group`` too.

What does not belong here: the command is ``agent/cmd/commands/demo.py``, and ``agent/cmd/demo_run.py`` runs the
audits on this cloud. The daemon never imports this package, and nothing here decides what an audit finds.
"""
