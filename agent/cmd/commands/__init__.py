"""Define the commands of ``stocktake``, one module each: arguments, exit code, and the call that does the work.

Begin with base.py, which prints documents and lists, and with a small command such as traits.py. A new command is a
module here and a line in agent/cmd/registry.py. The docstring of a command's class is the description that ``stocktake
COMMAND --help`` prints. storage_listing.py makes the rows of ``stocktake ledger --storage``.

The commands import large dependencies inside functions, so that ``--help`` prints at once.

What does not belong here: the work itself. It is in the ``*_run.py`` modules of agent/cmd, and the text and
JSON of an audit are in agent/render.
"""
