"""The page of one host: a module for each section and for each picture.

Begin with page.py, which lists the sections in their order. facts.py has the values from which every section is made:
the report of one audit, and what the command read in addition (journal, configuration, runbooks). Every other module is
a pure function from these values to blocks.

Not here: reading anything (agent/cmd/commands/report.py), and pages about several hosts.
"""
