"""Runbooks: one page in Markdown for each finding code and each alert, for the operator who has to act on it.

Begin with allocation-leaked.md. Every page has the same sections in the same order, and at most 400 words.
agent/cmd/naming/explain_code.py prints a page: ``stocktake explain allocation-leaked``. The alerts' ``runbook_url``
names the installed copy below share/doc/stocktake/runbooks.

Not here: code, and the conditions of each finding (docs/findings.md).
"""
