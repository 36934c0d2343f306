"""Report options that a file leaves empty, each with the effective value, and values that look like comments."""

from __future__ import annotations

from collections.abc import Iterator

from agent.config.loaded import DEFAULT_ORIGIN, Loaded


def blank_notices(loaded: Loaded) -> Iterator[str]:
    """For each line that leaves an option empty, yield a sentence that names the file and the option."""
    known = {(group, opt.dest) for group, opt in loaded.options}
    for path, group, option, key in loaded.blanks:
        outcome = f"; {_which_value_applies(loaded, *key)}" if key in known else ""
        yield f"{path}: [{group}] {option} is empty, so this line does not set the option{outcome}"


def comment_notices(loaded: Loaded) -> Iterator[str]:
    """Yield a sentence for each value that begins like a comment, except for secrets, which may begin with ``#``."""
    for group, opt in loaded.options:
        value = loaded.configured.get((group, opt.dest))
        if isinstance(value, str) and value.startswith("#") and not opt.secret:
            quoted = loaded.quote(group, opt.dest)
            yield f"{quoted}: this text is a value, not a comment; write a comment on a line of its own"


def _which_value_applies(loaded: Loaded, group: str, option: str) -> str:
    quoted = loaded.quote(group, option)
    if loaded.origin(group, option) != DEFAULT_ORIGIN:
        return f"the effective value is {quoted}"
    return "the default applies" if quoted.startswith(DEFAULT_ORIGIN) else "the option has no value"
