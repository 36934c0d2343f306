"""Write the pages about the demo's cloud: one page about the fleet, and one page about each host."""

from __future__ import annotations

import argparse
import datetime
import os
import sys
from collections.abc import Iterator

from agent.cmd.report_facts import facts_of
from agent.demo.cast import HOSTS
from agent.demo.cloud import DemoCloud
from agent.demo.outcome import DemoRun
from agent.host_files.installed import installed_version
from agent.pages.fleet.gathered import Folder, gathered
from agent.pages.fleet.page import fleet_page
from agent.pages.host.page import host_page
from agent.pages.output import write_page
from agent.pages.render import rendered
from agent.render.documents import Document, report_from_json, report_to_json


def write_demo_pages(file: str, built: DemoCloud, ran: DemoRun) -> tuple[str, ...]:
    """Write the fleet's page to ``file`` and each host's page to a file beside it; return the names of the files.

    The demo's cloud ``built`` must still exist, because a host's page also has the host's configuration and journal.
    Raises SourceUnavailable if a file cannot be written.
    """
    now = datetime.datetime.now(datetime.UTC)
    agent = {"agent_version": installed_version()}
    documents = {run.name: {**report_from_json(report_to_json(run.report)), **agent} for run in ran.hosts}
    about = Folder(source=f"the reports of the demo's {len(documents)} hosts", made=now, version=installed_version())
    pages = {file: rendered(fleet_page(gathered(documents.items(), about)))}
    pages |= dict(_host_pages(file, built, ran, documents, now.isoformat()))
    for name, text in pages.items():
        write_page(name, text, sys.stdout)
    return tuple(pages)


def _host_pages(
    file: str, built: DemoCloud, ran: DemoRun, documents: dict[str, Document], now: str
) -> Iterator[tuple[str, str]]:
    stem, suffix = os.path.splitext(file)
    by_name = {host.name: host for host in HOSTS}
    for run in ran.hosts:
        options = argparse.Namespace(config_file=[str(built.config_file(by_name[run.name]))], config_dir=[])
        facts = facts_of(options, run.report, documents[run.name], now)
        yield f"{stem}-{run.name}{suffix or '.html'}", rendered(host_page(facts))
