"""Which tests stay in one process of pytest-xdist: those of a module that share what is started once for the module.

``--dist loadgroup`` hands out each test by itself unless it is in a group. So every process would start a server of
its own for such a module: a Placement takes two seconds of a core, nova's answers ten.
"""

import pytest


@pytest.hookimpl(tryfirst=True)  # xdist writes the groups into the tests' names in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test without a group of its own that has a fixture of its module's is in the module's group."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None and _shares(item):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.split("::")[0].removesuffix(".py")))


def _shares(item: pytest.Item) -> bool:
    # pytest tells a test's fixtures by name only; what each name means for it stands here (pytest 6 to 9).
    known = item._fixtureinfo.name2fixturedefs if isinstance(item, pytest.Function) else {}
    return any(made[-1].scope == "module" for made in known.values())
