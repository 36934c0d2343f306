"""Write an answer to "No valid host" as one JSON document; later versions may add keys but never rename them.

Pure: no I/O.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict

from agent.model.resource_request import RequestGroup, ResourceRequest
from agent.render.documents import SCHEMA_VERSION, Document
from agent.text.amounts import unit_of
from agent.why.model import Obstacle, TreeAnswer
from agent.why.report import CellRoom, WhyReport, is_undecided


def document(report: WhyReport) -> Document:
    """Return the report as JSON.

    The key ``cloud`` has the value None if only this host was checked. The key ``tree`` has the value None if this
    host's provider tree is unknown.
    """
    own = report.own
    return {
        "schema_version": SCHEMA_VERSION,
        "node": report.node,
        "provider_uuid": report.provider_uuid,
        "request": {
            **request_document(report.answer.request),
            "numa_nodes": report.numa_nodes,
            "page_size": report.page_size,
        },
        "everywhere": report.is_whole,
        "fits": report.fits,
        "tree": None if own is None else _tree(report, own),
        "host": {
            "obstacles": [_obstacle(obstacle) for obstacle in report.answer.host_obstacles],
            "cells": None if report.cells is None else [_cell(cell) for cell in report.cells],
            "notes": list(report.notes),
            "findings": [{**dataclasses.asdict(h), "unit": unit_of(h.resource_class)} for h in report.holding],
        },
        "cloud": _cloud(report) if report.is_whole else None,
        "unknown": list(report.unknown),
        "placement": {"requests": report.requests},
    }


def request_document(request: ResourceRequest) -> Document:
    """Return the parsed request as JSON; sets become sorted lists."""
    return {
        "groups": [_group(group) for group in request.groups],
        "group_policy": request.group_policy,
        "root_required": sorted(request.root_required),
        "root_forbidden": sorted(request.root_forbidden),
        "same_subtree": [sorted(some) for some in request.same_subtree],
    }


def _group(group: RequestGroup) -> Document:
    return {
        "suffix": group.suffix,
        "resources": dict(group.resources),
        "required": [sorted(some) for some in group.required],
        "forbidden": sorted(group.forbidden),
        "member_of": [sorted(some) for some in group.member_of],
        "forbidden_aggregates": sorted(group.forbidden_aggregates),
        "in_tree": group.in_tree,
    }


def _tree(report: WhyReport, tree: TreeAnswer) -> Document:
    """Return the answer about one provider tree as a document.

    ``fits``: whether Placement would offer the tree. ``refused_by_host``: whether this host would refuse the guest
    although Placement offers the tree. This happens because Placement knows nothing of NUMA cells and pages.
    """
    return {
        "root_uuid": tree.root_uuid,
        "root_name": tree.root_name,
        "fits": tree.fits,
        "refused_by_host": report.is_refused_by_host(tree),
        "obstacles": [_obstacle(obstacle) for obstacle in tree.obstacles],
        "caveats": list(tree.caveats),
    }


def _obstacle(obstacle: Obstacle) -> Document:
    remedies = [{**dataclasses.asdict(remedy), "kind": remedy.kind.value} for remedy in obstacle.remedies]
    return {**dataclasses.asdict(obstacle), "constraint": obstacle.constraint.value, "remedies": remedies}


def _cell(cell: CellRoom) -> Document:
    return {**dataclasses.asdict(cell), "pages": [{"size_kib": size, "free": free} for size, free in cell.pages]}


def _cloud(report: WhyReport) -> Document:
    trees = report.answer.trees
    refused: dict[str, int] = defaultdict(int)
    for tree in trees:
        if report.is_refused_by_host(tree):
            refused[report.answer.host_obstacles[0].constraint.value] += 1
        elif not tree.fits and not is_undecided(tree):
            refused[tree.obstacles[0].constraint.value] += 1
    return {
        "trees": len(trees),
        "fits": len(report.fitting),
        "undecided": sum(map(is_undecided, trees)),
        "refused": dict(refused),
        "unread": list(report.unread),
        "answers": [_tree(report, tree) for tree in trees],
    }
