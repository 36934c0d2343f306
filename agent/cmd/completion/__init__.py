"""Completion scripts for bash, zsh and fish, made from the commands' own parsers.

Begin with words.py, which reads the parsers into frozen values. The modules bash.py, zsh.py and fish.py turn the values
into a script each. ``stocktake complete --shell NAME`` prints a script.

Not here: the list of commands (agent/cmd/registry.py).
"""
