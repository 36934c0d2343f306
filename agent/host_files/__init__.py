"""The files that the agent keeps on the host, and the small files of the kernel that it reads.

In the state directory lie ``compute_id`` (identity.py), findings.json (history.py), store.json (store_file.py) and
journal.jsonl (journal.py); in the run directory lies the last report (reports.py). lock.py lets one process write at a
time.

Begin with atomic.py, which every other writer uses, then read journal.py. own_folder.py decides which errors of a
folder pass by themselves and which need an operator.

What does not belong here: configuration files (agent/config/), guests' disk files and storage (agent/sources/), and
decisions about the contents, such as what to undo (agent/healing/) or which store is trusted (agent/resources/).
"""
