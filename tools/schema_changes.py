"""The shapes of the documents about changes (heal, journal, undo), errors and checks; the list of all documents."""

from __future__ import annotations

from agent.cmd.command_line.failures import FailureKind
from agent.host_files.journal import Result
from agent.monitoring.health import Status
from tools import schema_shapes as shapes
from tools.schema_shapes import ALLOCATIONS, AMOUNTS, AUDIT_KEYS, RESULT
from tools.schema_words import (
    COUNT,
    NUMBER,
    TEXT,
    TIME,
    VERSION,
    WHOLE,
    YES_NO,
    Schema,
    each,
    maybe,
    obj,
    one_of,
    ref,
    told,
)

STORE = obj(
    "A store",
    source=one_of("filesystem", "lvm"),
    name=TEXT,
    size_bytes=COUNT,
    uuid=maybe(TEXT),
    filesystem=maybe(
        obj("A store", "filesystem", mount_point=TEXT, kind=TEXT, device=TEXT, inner=TEXT, uuid=maybe(TEXT))
    ),
)
CONSUMER = obj(
    "What a consumer holds",
    optional=("consumer_generation",),
    consumer_uuid=TEXT,
    consumer_generation=maybe(COUNT),
    project_id=maybe(TEXT),
    user_id=maybe(TEXT),
    consumer_type=maybe(TEXT),
    allocations=each(obj("What a consumer holds", "allocations", **ALLOCATIONS)),
)
_CHANGED = {
    "consumer": ref("consumer"),
    "instance": maybe(TEXT),
    "resource_class": TEXT,
    "providers": each(
        obj(
            "Before and after",
            "providers",
            provider_uuid=TEXT,
            name=TEXT,
            parent_uuid=maybe(TEXT),
            inventories=maybe(
                each(
                    obj(
                        "Before and after",
                        "providers.inventories",
                        resource_class=TEXT,
                        **AMOUNTS,
                        allocation_ratio=NUMBER,
                    )
                )
            ),
        )
    ),
    "consumers": each(
        obj(
            "Before and after",
            "consumers",
            optional=("instance",),
            consumer=ref("consumer"),
            instance=maybe(TEXT),
        )
    ),
    "path": TEXT,
    "text": maybe(TEXT),
    "name": TEXT,
    "store": maybe(ref("store")),
    "host": maybe(TEXT),
    "hypervisor_hostname": maybe(TEXT),
    "service_id": maybe(WHOLE),
}
CHANGED = obj("Before and after", optional=tuple(_CHANGED), **_CHANGED)
JOURNAL_ROW = obj(
    "journal",
    id=TEXT,
    at=TIME,
    ended_at=maybe(TIME),
    kind=TEXT,
    code=maybe(TEXT),
    finding_id=maybe(TEXT),
    consumer_uuid=maybe(TEXT),
    provider_uuid=maybe(TEXT),
    result=one_of(*(result.value for result in Result)),
    words=TEXT,
    why=TEXT,
    undoes=maybe(TEXT),
    undone_by=each(TEXT),
    audit_id=maybe(TEXT),
    plan_digest=maybe(TEXT),
    before=ref("changed"),
    after=ref("changed"),
    actor=maybe(
        obj(
            "journal",
            "actor",
            user=TEXT,
            login_uid=maybe(WHOLE),
            sudo_user=maybe(TEXT),
            program=TEXT,
            version=TEXT,
            host=TEXT,
            pid=WHOLE,
        )
    ),
)
_HELD_OR_CHANGED = {"anyOf": [ref("consumer"), ref("changed")]}
HEAL = obj(
    "heal",
    **{name: AUDIT_KEYS[name] for name in ("schema_version", "audit_id", "host", "node", "provider_uuid", "role")},
    digest=TEXT,
    stale=YES_NO,
    undecided=YES_NO,
    unread=each(obj("heal", "unread", source=TEXT, error=maybe(TEXT))),
    actions=each(
        obj(
            "heal",
            "actions",
            finding_id=TEXT,
            code=TEXT,
            consumer_uuid=maybe(TEXT),
            why=TEXT,
            also_ends=each(TEXT),
            before=_HELD_OR_CHANGED,
            after=_HELD_OR_CHANGED,
        )
    ),
    refusals=each(
        obj(
            "heal",
            "refusals",
            finding_id=TEXT,
            code=TEXT,
            consumer_uuid=maybe(TEXT),
            guard=TEXT,
            why=TEXT,
            waits=YES_NO,
            wait_s=maybe(NUMBER),
        )
    ),
    gone=shapes.GONE,
    nothing_because=maybe(TEXT),
    try_again_s=maybe(WHOLE),
    repeat=maybe(TEXT),
    command=maybe(TEXT),
    results=each(
        obj(
            "heal",
            "results",
            finding_id=TEXT,
            consumer_uuid=maybe(TEXT),
            result=RESULT,
            words=TEXT,
            entry_id=maybe(TEXT),
        )
    ),
)
UNDO = obj("undo", schema_version=VERSION, entry=TEXT, result=RESULT, words=TEXT, entry_id=maybe(TEXT))
ERROR = obj(
    "An error",
    schema_version=VERSION,
    error=obj(
        "An error",
        "error",
        kind=one_of(*(kind.value for kind in FailureKind)),
        message=TEXT,
        problems=each(TEXT),
    ),
    exit_code=COUNT,
)
CONFIG_CHECK = obj(
    "config check",
    schema_version=VERSION,
    ok=YES_NO,
    files=each(TEXT),
    problems=each(TEXT),
    notices=each(TEXT),
    live=maybe(each(obj("config check", "live", what=TEXT, ok=YES_NO, took_ms=NUMBER, words=TEXT))),
)
_HEALTH = one_of(*(status.value for status in Status))
_CHECK = obj(
    "",
    optional=("output",),
    status=told("how the check ended", _HEALTH),
    time=told("when an audit last reported the check", TIME),
    output=told("why the status is not pass; absent if it is pass", TEXT),
)
HEALTH = obj(
    "",
    status=told("the worst check; the HTTP status is 503 for fail, else 200", _HEALTH),
    version=told("the version of the form", {"const": "1.0"}),
    serviceId=told("the uuid of the host's resource provider", maybe(TEXT)),
    description=told("the name of the program", TEXT),
    notes=told(
        "the host",
        obj(
            "",
            host=told("[DEFAULT] host", maybe(TEXT)),
            hostname=told("the host's name in libvirt", maybe(TEXT)),
        ),
    ),
    checks=told("each check by its name", {"type": "object", "additionalProperties": _CHECK}),
)

#: Parts to which several documents refer.
PARTS: dict[str, Schema] = {
    "audit": obj("audit", **AUDIT_KEYS),
    "source": shapes.SOURCE,
    "finding": shapes.FINDING,
    "write": shapes.WRITE,
    "consumer": CONSUMER,
    "changed": CHANGED,
    "store": STORE,
}
#: Each document by the name of its file: what prints or stores the document, and its shape.
DOCUMENTS: dict[str, tuple[str, Schema]] = {
    "report": ("the file /run/stocktake/report.json, and /report.json of the health checks", shapes.REPORT),
    "audit": ("stocktake audit -f json", PARTS["audit"]),
    "status": ("stocktake status -f json", shapes.STATUS),
    "findings": ("stocktake findings -f json", each(shapes.FINDING_ROW)),
    "ledger": ("stocktake ledger -f json", each(shapes.LEDGER_ROW)),
    "ledger-storage": ("stocktake ledger --storage -f json", each(shapes.STORAGE_ROW)),
    "inventory": ("stocktake inventory -f json", each(shapes.INVENTORY_ROW)),
    "traits": ("stocktake traits -f json", each(shapes.TRAIT_ROW)),
    "journal": ("stocktake journal -f json", each(JOURNAL_ROW)),
    "heal": ("stocktake heal -f json", HEAL),
    "undo": ("stocktake undo -f json", UNDO),
    "config-check": ("stocktake config check -f json", CONFIG_CHECK),
    "error": ("any command with -f json that ends without its document", ERROR),
    "health": ("/health of the health checks", HEALTH),
}
