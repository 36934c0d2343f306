"""The groups of tests that pytest-xdist keeps in one process: tests of a module that share a module-scoped fixture.

``--dist loadgroup`` distributes each test by itself unless it is in a group. Without groups, every process would start
its own server for such a module: nova's answers take ten seconds of a core.
"""

import pytest


@pytest.hookimpl(tryfirst=True)  # xdist writes the groups into the tests' names in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put each test that uses a module-scoped fixture, and has no group of its own, into its module's group."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None and _shares(item):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.split("::")[0].removesuffix(".py")))


def _shares(item: pytest.Item) -> bool:
    # pytest's public API names a test's fixtures only; their definitions are in this attribute (pytest 6 to 9).
    known = item._fixtureinfo.name2fixturedefs if isinstance(item, pytest.Function) else {}
    return any(made[-1].scope == "module" for made in known.values())
