"""Read and write the files that the agent keeps on the host, and read small files of the kernel.

The state directory contains ``compute_id`` (identity.py), findings.json (history.py), store.json (store_file.py) and
journal.jsonl (journal.py). The run directory contains the last report (reports.py). lock.py lets only one process write
at a time.

Begin with atomic.py, which every other writer uses, then read journal.py. own_folder.py tells temporary errors
of a folder from errors that an operator must repair.

Not here: configuration files (agent/config/), guests' disk files and storage (agent/sources/), and decisions about the
contents of the files, such as what to undo (agent/healing/) or whether a store is the right one (agent/resources/).
"""
