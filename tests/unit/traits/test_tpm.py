"""Emulated TPMs."""

from __future__ import annotations

import pytest

from agent.model.settings import Tpm
from agent.model.snapshot import LIBVIRT
from agent.traits.tpm import wish as wish_of
from tests.rigs.capabilities import UNREADABLE, capable, emulator, world
from tests.rigs.facts import settings, snapshot

SECRETS = {"SECRET_SECURITY_USER", "SECRET_SECURITY_HOST", "SECRET_SECURITY_DEPLOYMENT"}
ALL = {"TIS", "CRB", "1_2", "2_0"}


def tpm(models=("tpm-tis", "tpm-crb"), versions=("1.2", "2.0"), backends=("emulator", "passthrough"), **changes):
    return emulator(
        tpm_models=frozenset(models),
        tpm_versions=None if versions is None else frozenset(versions),
        tpm_backends=frozenset(backends),
        **changes,
    )


def told(facts, **choice):
    wish = wish_of(facts, settings(tpm=Tpm(**{"enabled": True, **choice})))
    return tuple(
        {name.removeprefix("COMPUTE_SECURITY_TPM_") for name in names} for names in (wish.wanted, wish.unwanted)
    )


HOSTS = {
    "both models, both versions": (capable(tpm()), ALL),
    "one model, one version": (capable(tpm(("tpm-tis",), ("2.0",))), {"TIS", "2_0"}),
    "a model without a trait": (capable(tpm(("tpm-spapr",), ("2.0",))), {"2_0"}),
    "a libvirt that does not list versions has both": (capable(tpm(("tpm-crb",), None)), {"CRB", "1_2", "2_0"}),
    "only the host's own": (capable(tpm(backends=("passthrough",))), set()),
    "<tpm> is not supported": (capable(emulator()), set()),
    "no emulator of the host's architecture runs": (capable(tpm(arch="aarch64")), set()),
    "in one machine type of two": (capable(emulator(machine="isapc"), tpm(machine="q35")), ALL),
}


@pytest.mark.parametrize(("capabilities", "expected"), HOSTS.values(), ids=HOSTS.keys())
def test_tpm_traits_match_the_tpms_that_libvirt_emulates(capabilities, expected):
    """The agent sets a trait for each TPM model and version that libvirt can emulate, and removes the others."""
    assert told(world(capabilities)) == (expected | SECRETS, ALL - expected)


def test_tpm_traits_are_removed_if_tpm_is_disabled():
    """The agent removes the traits of TPM models and versions if the configuration disables emulated TPMs."""
    for facts in (world(capable(tpm())), world(None), snapshot(lost=[LIBVIRT])):
        assert told(facts, enabled=False) == (set(), ALL)


@pytest.mark.parametrize("ways", [(), ("user",), ("host", "deployment")])
def test_tpm_secret_traits_match_the_configured_modes(ways):
    """The agent sets a TPM trait for each configured mode of secret security, such as `user` or `host`."""
    wanted, unwanted = told(world(capable(tpm())), secret_security=ways)
    assert wanted == ALL | {f"SECRET_SECURITY_{way.upper()}" for way in ways}
    assert unwanted == set()


@pytest.mark.parametrize("facts", [world(None), world(capable(domain=None)), snapshot(lost=[LIBVIRT])])
def test_tpm_model_traits_stay_if_capabilities_are_unknown(facts):
    """The agent leaves the traits of TPM models and versions unchanged if libvirt's capabilities could not be read."""
    assert told(facts) == (SECRETS, set())


def test_no_tpm_trait_is_removed_after_a_partial_answer():
    """The agent removes no TPM trait if a part of libvirt's capabilities could not be read."""
    facts = world(capable(tpm(("tpm-tis",), ("2.0",)), missing=(UNREADABLE,)))
    assert told(facts) == ({"TIS", "2_0"} | SECRETS, set())
