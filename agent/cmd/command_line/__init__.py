"""The command line of ``stocktake``: its parser, the text of its help, and the ways in which a command can fail.

Begin with parser.py. help_texts.py has the examples and the exit codes of each command. failures.py has the kinds of
failure, each with an exit code and a JSON object.

Not here: the list of commands (agent/cmd/registry.py), the commands themselves (agent/cmd/commands), and the end of the
process (agent/cmd/exit_handling.py).
"""
