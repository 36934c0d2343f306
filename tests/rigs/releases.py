"""The OpenStack releases that the agent supports, and which of them the tests run against.

If ``STOCKTAKE_RELEASE`` names one (``2024.1``), nova, its conductor, the cell's tables and Placement are those of that
release, in an environment of its own. Without it the tests use the newest: its nova in the environment of nova_env.py,
and the Placement of the test's own environment. ``tools/matrix`` runs the tests against one release after another.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.rigs import python_env

VARIABLE = "STOCKTAKE_RELEASE"
_CONSTRAINTS = Path(__file__).parent / "constraints"


@dataclass(frozen=True, slots=True)
class Release:
    """One OpenStack release. ``service_version`` is nova's SERVICE_VERSION: its services write it into their rows.

    ``on_eventlet``: its nova-conductor needs eventlet's patches to answer. ``knows_all_traits``: its os-traits has all
    traits that the agent sets in the tests. ``admin_reshapes``: its policy also allows a reshape to role admin (before
    4.4 oslo.policy accepted the old defaults too: enforce_new_defaults).
    """

    series: str
    nova: str
    placement: str
    service_version: int
    on_eventlet: bool
    knows_all_traits: bool
    admin_reshapes: bool = False

    @property
    def nova_series(self) -> int:
        """Nova's number of the release."""
        return int(self.nova.partition(".")[0])

    @property
    def placement_series(self) -> int:
        """Placement's number of the release."""
        return int(self.placement.partition(".")[0])


# The last stable version of each; the service versions are from nova/objects/service.py.
RELEASES = (
    Release(
        "2024.1",
        nova="29.4.0",
        placement="11.0.1",
        service_version=67,
        on_eventlet=True,
        knows_all_traits=False,
        admin_reshapes=True,
    ),
    Release("2024.2", nova="30.3.0", placement="12.0.2", service_version=67, on_eventlet=True, knows_all_traits=False),
    Release("2025.1", nova="31.3.1", placement="13.0.1", service_version=68, on_eventlet=True, knows_all_traits=False),
    Release("2025.2", nova="32.2.1", placement="14.0.0", service_version=70, on_eventlet=True, knows_all_traits=True),
    Release("2026.1", nova="33.0.2", placement="15.0.0", service_version=72, on_eventlet=False, knows_all_traits=True),
    Release("2026.2", nova="34.0.0", placement="16.0.0", service_version=74, on_eventlet=False, knows_all_traits=True),
)
NEWEST = RELEASES[-1]


UNKNOWN_TRAITS = (
    "This Placement does not know every trait that the agent sets: the agent sets the others, reports write-refused"
    " (a warning) with the names, and tries again only after a restart."
)


def chosen() -> Release:
    """Return the release that the tests run against."""
    return named(os.environ.get(VARIABLE) or NEWEST.series)


def needs_all_traits() -> pytest.MarkDecorator:
    """Return the mark of a test that needs a Placement with all traits of the agent."""
    return pytest.mark.skipif(not chosen().knows_all_traits, reason=UNKNOWN_TRAITS)


def named(series: str) -> Release:
    """Return the release of that series. Raise AssertionError with the known ones if there is none."""
    known = {release.series: release for release in RELEASES}
    assert series in known, f"{VARIABLE}={series} is none of {', '.join(known)}"
    return known[series]


def environment(release: Release) -> Path:
    """Return the python of an older release's environment: nova, Placement and a server for it.

    Raise AssertionError with pip's output if it cannot be made. Measured: a minute and 300 MB.
    """
    wanted = (f"nova=={release.nova}", f"openstack-placement=={release.placement}", "waitress", "PyMySQL")
    return python_env.made(f"openstack-{release.series}", _CONSTRAINTS / f"{release.series}.txt", *wanted)
