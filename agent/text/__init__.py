"""Write values as text for people, and check text of other programs before the agent uses or quotes it.

For output: ``amounts.py`` writes numbers with units, and ``wording.py`` puts the results of comparisons (verdicts),
unknown values and long lists into words. For input: ``numbers.py`` decides which values count as numbers,
``own_rows.py`` reads rows from the agent's own files, and ``custom_names.py`` checks Placement's CUSTOM_ names. For
safety: ``redact.py`` removes credentials from any text, and ``urls.py`` checks URL options and removes logins from
them.

Begin with ``wording.py`` and ``amounts.py``. The modules here do no I/O.

Not here: the layout of a command's output or of the report (``agent/render/``), log lines (``agent/telemetry/``), the
sentences of a finding (``agent/findings/``), and reading or writing the agent's files (``agent/host_files/``).
"""
