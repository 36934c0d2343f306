"""The pictures of a host's page, one module each: capacity, storage, tree, timeline, numa, sources.

Begin with sources.py, the smallest. Each module has one function that returns a ``Picture``: its shapes, a title, a
sentence with the result in numbers, and a table with the same numbers. A picture is 960 units wide, and all lengths are
in these units.

Not here: reading amounts from the report (books.py, stores.py, tree.py and cells.py one folder above).
"""
