"""How a page in Markdown is shown on a terminal."""

from agent.render.page_text import page_blocks
from tests.rigs.screens import shown

COMMAND = "openstack resource provider allocation unset --provider bd0379cb-12b7-54ae-a063-fe1cfa3fdfa4"
PAGE = f"""# allocation-leaked

Placement still counts an instance
that was deleted. Nobody uses
this amount.

- first look at
  the instance
2. then heal

| State | Meaning |
| --- | --- |
```console
# {COMMAND}

end
```
The end.
"""


def test_a_printed_page_joins_lines_and_keeps_tables():
    """A command prints a documentation page.

    The lines of a paragraph are joined; tables and commands keep their lines.
    """
    assert shown(page_blocks(PAGE)) == [
        "# allocation-leaked",
        "",
        "Placement still counts an instance that was deleted. Nobody uses this amount.",
        "",
        "- first look at the instance",
        "2. then heal",
        "",
        "| State | Meaning |",
        "| --- | --- |",
        f"  # {COMMAND}",
        "",
        "  end",
        "The end.",
    ]


def test_a_page_wraps_its_text_and_not_its_commands():
    """On a narrow terminal, the text of a documentation page is wrapped. A command stays on one line for copying."""
    said = shown(page_blocks(PAGE), 30)
    assert [line for line in said if len(line) > 30] == [f"  # {COMMAND}"]
    assert said[2:5] == ["Placement still counts an", "instance that was deleted.", "Nobody uses this amount."]
    assert said[6] == "- first look at the instance"
