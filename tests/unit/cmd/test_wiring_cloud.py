"""Wiring: which state source a configuration selects, that it opens no connection, and what each audit reads again."""

import contextlib
import dataclasses
from typing import ClassVar

import pytest

from agent.cmd.waits.caller import DAEMON, Caller
from agent.cmd.wiring import wire
from agent.conductor.reader import ConductorState
from agent.conductor.records import ConductorRecords
from agent.config.loaded import Loaded
from agent.ports import Deadline
from agent.sources.nova.none import NoState
from agent.sources.nova.sql import NovaSql
from tests.rigs.configs import ALONE, load_ours
from tests.rigs.mariadb import free_port

BROKER = "[DEFAULT]\ntransport_url = rabbit://u:p@127.0.0.1:{port}/\n"


def wired_from(tmp_path, state, extra=""):
    text = ALONE.replace("[state]\nsource = none\n", f"[state]\n{state}\n")
    return wire(load_ours(tmp_path, f"{text}[libvirt]\nconnection_uri = test:///default\n{extra}"))


@pytest.mark.parametrize(
    ("state", "extra", "source", "writer"),
    [
        ("source = none", BROKER, NoState, type(None)),
        ("connection = sqlite:////nowhere/cell.db", BROKER, NovaSql, type(None)),
        ("source = conductor", BROKER, ConductorState, ConductorRecords),
        ("", BROKER, ConductorState, ConductorRecords),
    ],
    ids=["none", "sql before a broker", "conductor", "a broker alone"],
)
def test_the_options_select_the_source_of_nova_data(tmp_path, state, extra, source, writer):
    """By its options, the agent reads nova's data from nova-conductor, from the SQL database, or not at all."""
    # No server listens on this port: opening a connection would fail.
    with wired_from(tmp_path, state, extra.format(port=free_port())) as wired:
        assert type(wired.parts.state) is source
        assert type(wired.parts.records) is writer


def test_the_nova_data_source_is_closed_at_the_end(tmp_path):
    """The agent closes its connection to nova-conductor when a command ends; later reads fail."""
    with wired_from(tmp_path, "source = conductor", BROKER.format(port=free_port())) as wired:
        state = wired.parts.state

    with pytest.raises(Exception, match="the reader thread has been stopped"):
        state.read("h", frozenset(), Deadline.after(5))


def test_only_commands_remember_unresponsive_sources(tmp_path):
    """A `stocktake` command remembers between its audits which sources did not answer. The daemon forgets them."""
    loaded = load_ours(tmp_path, f"{ALONE}[libvirt]\nconnection_uri = test:///default\n")
    with wire(loaded, Caller()) as wired:
        assert wired.parts.late() is wired.parts.late()
    with wire(loaded, DAEMON) as wired:
        assert wired.parts.late() is not wired.parts.late()


def test_a_slow_read_notice_shows_the_source(tmp_path):
    """A notice about a slow read shows the source (libvirt, nova's data, LVM); for libvirt it also shows the URI."""
    watched = []

    def watch(what, at_most_s):
        watched.append((what, at_most_s))
        return contextlib.nullcontext()

    loaded = load_ours(tmp_path, f"{ALONE}[libvirt]\nconnection_uri = test:///default\n[agent]\nsource_deadline = 7\n")
    with wire(loaded, Caller(watch=watch)) as wired:
        for source in ("libvirt", "state", "lvm", "placement"):
            with wired.parts.reading(source):
                assert wired.mark.source == source
    # The client of Placement watches each of its requests itself.
    assert watched == [("libvirt (test:///default)", 7.0), ("state", 7.0), ("lvm", 7.0)]


class _Counting(Loaded):
    """A configuration that notes which options are read."""

    asked: ClassVar[list[tuple[str, str]]] = []

    def value(self, group, option):
        self.asked.append((group, option))
        return Loaded.value(self, group, option)


def test_notes_about_files_depend_on_no_option_except_role(tmp_path):
    """An audit's notes about problems with the agent's files depend on no option except [agent] role."""
    loaded = load_ours(tmp_path, f"{ALONE}[libvirt]\nconnection_uri = test:///default\n")
    counting = _Counting(**{each.name: getattr(loaded, each.name) for each in dataclasses.fields(loaded)})
    with wire(counting) as wired:
        counting.asked.clear()
        wired.parts.notes()
    assert counting.asked == [("agent", "role")]
