"""Make HTML pages that an operator can send to others: each page is one file, and loads nothing from elsewhere.

Begin with page.py: a page is a frozen ``Page`` of sections, and a section is a tuple of blocks (blocks.py): paragraphs,
notes, numbers, findings, tables and pictures. How a page is composed:

1. A pure function turns facts (an AuditReport, a FleetView) into blocks. Each section is a module of its own, and so is
   each picture. The sections of one host's page are in agent/pages/host, in the order in which the page shows them.
2. A picture is a ``Picture`` of ``Shape`` values. shapes.py makes shapes: ``rectangle``, ``label``, ``rule``. A shape
   has a ``Meaning`` (counted, wrong, foreign, reserved, moving, free, unread), which decides colour, pattern and word.
   A picture always has a title, a sentence with the result in numbers, and a table with the same numbers.
3. ``rendered(page)`` of render.py fills in templates/page.html. Jinja2 escapes every text; render.py also replaces
   control characters. No module calls ``Markup`` or uses ``|safe``, and no shape takes a tag or an attribute's name
   from data.
4. ``write_page(file, text)`` of output.py writes the file atomically with mode 0600, or to stdout for ``-``.

A new kind of block is a frozen class in blocks.py with its own ``kind``, and a macro of the same name in
templates/blocks.html. Styles are in templates/style.css, the script in templates/page.js. A page is complete without
the script. The page's head has the hashes of both files (Content-Security-Policy): if Jinja2 replaced anything in a
file, its hash would be wrong.

Not here: what the numbers mean (books, findings), and reading the clock, the journal or the configuration (cmd). No
module that the daemon imports may import this package, because the package imports Jinja2.
"""
