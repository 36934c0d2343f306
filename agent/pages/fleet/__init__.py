"""The page of the whole fleet: how much capacity is wasted, on which hosts, and what is not known.

Begin with page.py, which lists the sections in the order of the page. Every section is a pure function of the
``FleetFacts`` (facts.py): the rows of ``stocktake watch``, and, if the page is made from report files, what each report
says about consumers, orphaned compute nodes and disk stores. gathered.py turns one report after another into these
facts. The order of the hosts never changes the page.

A host that is silent, was never seen or could not be read is still counted as a host, and each sum says how many hosts
it leaves out.
"""
