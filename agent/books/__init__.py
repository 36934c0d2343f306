"""The three books of one snapshot, their comparison, and the rows that are printed from them: pure functions.

The books are *promised* (the cloud's state), *held* (libvirt and the volumes) and *recorded* (Placement). Begin with
ledger.py, which writes them. compare.py puts the books side by side, verdict.py judges each row, compared.py reuses the
last audit's result. occupancy.py decides which instances and migrations occupy the host, recency.py which rows changed
too recently to be judged. confirm.py decides which findings several audits have confirmed.

storage_ledger.py and image_ledger.py assign the bytes of volume groups and of the instances file system to owners;
report_rows.py builds the rows for reports and commands.

How much of a class a flavor or guest takes is decided in agent/resources and agent/nested, the text of findings in
agent/findings. Nothing here reads a source (agent/audit/read.py does) or formats a table (agent/render does).
"""
