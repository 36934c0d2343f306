"""The three books of one snapshot, their comparison, and the rows that are printed from them: pure functions.

The books are named "promised" (the cloud's state), "held" (libvirt and the volumes) and "recorded" (Placement). Begin
with ledger.py, which computes the books. compare.py puts them side by side, and verdict.py judges each row. If nothing
has changed, compared.py reuses the last audit's result. occupancy.py decides which instances and migrations occupy the
host. recency.py decides which rows changed too recently to be judged. confirm.py decides which findings several audits
have confirmed.

storage_ledger.py assigns the bytes of volume groups to owners. image_ledger.py assigns the bytes of the instances file
system.
report_rows.py builds the rows for reports and commands.

What does not belong here: how much of a class a flavor or guest takes (agent/resources and agent/nested), the text of
findings (agent/findings), reading a source (agent/audit/read.py), and formatting a table (agent/render).
"""
