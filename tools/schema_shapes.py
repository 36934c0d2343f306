"""The shapes of the JSON documents that Stocktake prints: keys, types and which values may be null.

An object here is open: a new version of the agent may add keys. Lists of values that grow (causes, verdicts, kinds of
writes) are plain text; an ``enum`` here is a closed list.
"""

from __future__ import annotations

from agent.host_files.journal import Result
from agent.model.finding import FindingState, RemedyKind, Severity
from agent.model.report import Outcome
from agent.model.settings import Role
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

RESULT = one_of(*(each_.value for each_ in Result if each_ is not Result.OPEN))
ROLE = one_of(*(role.value for role in Role))
SEVERITY = one_of(*(severity.value for severity in Severity))
STATE = one_of(*(state.value for state in FindingState))
OPEN_OBJECT: Schema = {"type": "object"}

SOURCE = obj(
    "A source",
    name=TEXT,
    ok=YES_NO,
    age_s=maybe(NUMBER),
    duration_ms=NUMBER,
    error=maybe(TEXT),
    denied=YES_NO,
    behind_s=maybe(NUMBER),
    read=maybe(one_of("full", "light")),
    asked=YES_NO,
    not_asked_because=maybe(TEXT),
    lost_since=maybe(TIME),
    losses=COUNT,
    reason=maybe(TEXT),
)

CLAIM = obj(
    "A finding",
    "evidence",
    consumer_uuid=maybe(TEXT),
    consumer_key=TEXT,
    consumer_name=TEXT,
    consumer_kind=TEXT,
    instance_uuid=maybe(TEXT),
    cause=TEXT,
    provider=TEXT,
    resource_class=TEXT,
    amount=WHOLE,
    size_bytes=maybe(COUNT),
    source=TEXT,
)

FINDING = obj(
    "A finding",
    id=TEXT,
    code=TEXT,
    severity=SEVERITY,
    confirmed=YES_NO,
    provider_uuid=maybe(TEXT),
    consumer_uuid=maybe(TEXT),
    resource_class=maybe(TEXT),
    subject=TEXT,
    headline={"type": "string", "maxLength": 160},
    known=each(TEXT),
    began_at=maybe(TIME),
    began_because=TEXT,
    expected=TEXT,
    actual=TEXT,
    remedy=TEXT,
    remedies=each(
        obj(
            "A finding",
            "remedies",
            kind=one_of(*(kind.value for kind in RemedyKind)),
            words=TEXT,
            command=maybe(TEXT),
        )
    ),
    state=STATE,
    unknown_because=each(TEXT),
    rests_on=each(TEXT),
    sightings=COUNT,
    stands_since=TIME,
    first_seen_at=TIME,
    last_seen_at=TIME,
    caused_by=each(TEXT),
    symptoms=each(TEXT),
    facts=OPEN_OBJECT,
    evidence=each(CLAIM),
)

GONE = each(
    obj(
        "audit",
        "gone",
        id=TEXT,
        code=TEXT,
        consumer_uuid=maybe(TEXT),
        reason=TEXT,
        words=TEXT,
        entry_id=maybe(TEXT),
        actor=maybe(TEXT),
    )
)
AMOUNTS = {"total": COUNT, "reserved": COUNT, "min_unit": COUNT, "max_unit": COUNT, "step_size": COUNT}
ALLOCATIONS = {"provider_uuid": TEXT, "resource_class": TEXT, "amount": COUNT}
RECORD_VALUES = {
    **dict.fromkeys(("uuid", "host", "hypervisor_hostname", "hypervisor_type"), TEXT),
    **dict.fromkeys(("service_id", "hypervisor_version", "vcpus", "memory_mib", "local_gib"), maybe(WHOLE)),
    **dict.fromkeys(("vcpus_used", "running_vms", "current_workload", "memory_mib_used"), maybe(WHOLE)),
    **dict.fromkeys(("free_ram_mib", "local_gib_used", "free_disk_gib", "disk_available_least_gib"), maybe(WHOLE)),
    **dict.fromkeys(("host_ip", "cpu_info", "numa_topology", "pci_pools", "metrics"), maybe(TEXT)),
    **dict.fromkeys(("supported_instances", "stats"), maybe(each(each(maybe(TEXT))))),
    **dict.fromkeys(("cpu_ratio", "memory_ratio", "disk_ratio"), maybe(NUMBER)),
}
WRITE_KEYS = {
    "provider_uuid": TEXT,
    "name": TEXT,
    "parent_uuid": maybe(TEXT),
    "inventories": each(obj("A write", "inventories", resource_class=TEXT, **AMOUNTS, allocation_ratio=NUMBER)),
    **dict.fromkeys(("traits", "added", "removed", "aggregates"), each(TEXT)),
    "consumer_uuid": TEXT,
    "consumer_type": maybe(TEXT),
    "allocations": each(obj("A write", "allocations", **ALLOCATIONS)),
    "node": TEXT,
    "changed": each(TEXT),
    "values": obj("A write", "values", optional=tuple(RECORD_VALUES), **RECORD_VALUES),
}
WRITE = obj("A write", optional=tuple(WRITE_KEYS), kind=TEXT, **WRITE_KEYS)
HELD_BACK = obj("audit", "plan.held_back", provider_uuid=maybe(TEXT), what=TEXT, why=TEXT)

AUDIT_KEYS = {
    "schema_version": VERSION,
    "audit_id": TEXT,
    "host": TEXT,
    "node": maybe(TEXT),
    "provider_uuid": maybe(TEXT),
    "role": ROLE,
    "reasons": each(TEXT),
    "started_at": TIME,
    "duration_ms": NUMBER,
    "outcome": one_of(*(outcome.value for outcome in Outcome)),
    "sources": each(ref("source")),
    "findings": each(ref("finding")),
    "plan": obj("audit", "plan", digest=TEXT, writes=each(ref("write")), held_back=each(HELD_BACK)),
    "placement": obj(
        "audit",
        "placement",
        requests=COUNT,
        conflicts=COUNT,
        attempts=COUNT,
        conflict_kinds={"type": "object", "additionalProperties": COUNT},
        microversion=maybe(TEXT),
        tried=COUNT,
    ),
    "published": YES_NO,
    "writes_done": COUNT,
    "error": maybe(TEXT),
    "simulated": each(TEXT),
    "record_note": TEXT,
    "nova_versions": maybe(
        obj(
            "",
            state_source=told("the state source that the audit read", TEXT),
            compute=told("the version of this host's nova-compute service", maybe(COUNT)),
            conductors=told("the versions of the cell's nova-conductor services", each(COUNT)),
        )
    ),
    "notes": each(TEXT),
    "healed": each(
        obj(
            "audit",
            "healed",
            finding_id=TEXT,
            code=TEXT,
            consumer_uuid=maybe(TEXT),
            result=RESULT,
            words=TEXT,
            entry_id=maybe(TEXT),
        )
    ),
    "causes": COUNT,
    "findings_unknown": COUNT,
    "gone": GONE,
    "first": YES_NO,
    "boot": TEXT,
    "read_until": maybe(WHOLE),
    "nova_alive_since": maybe(WHOLE),
}

RESOURCE_VIEW = obj(
    "The resource view",
    **dict.fromkeys(("hypervisor_type", "hypervisor_hostname"), TEXT),
    **dict.fromkeys(("hypervisor_version", "vcpus", "vcpus_used", "memory_mb", "memory_mb_used"), maybe(WHOLE)),
    **dict.fromkeys(("local_gb", "local_gb_used", "disk_available_least"), maybe(WHOLE)),
    host_ip=maybe(TEXT),
    cpu_info=maybe(
        obj(
            "The resource view",
            "cpu_info",
            optional=("maxphysaddr",),
            arch=TEXT,
            model=maybe(TEXT),
            vendor=maybe(TEXT),
            topology=obj(
                "The resource view",
                "cpu_info.topology",
                **dict.fromkeys(("cells", "sockets", "cores", "threads"), maybe(COUNT)),
            ),
            features=maybe(each(TEXT)),
            maxphysaddr=obj("The resource view", "cpu_info.maxphysaddr", mode=TEXT, bits=maybe(COUNT)),
        )
    ),
    numa_topology=maybe(OPEN_OBJECT),
    pci_stats=maybe(OPEN_OBJECT),
    supported_instances=each(each(TEXT)),
    uptime_s=maybe(NUMBER),
    load=maybe({"type": "array", "items": NUMBER, "minItems": 3, "maxItems": 3}),
    unknown=each(TEXT),
)

LEDGER_ROW = obj(
    "ledger",
    optional=("outside_tree", "settling"),
    outside_tree=told("only in the report file: whether the provider is outside the tree of the host", YES_NO),
    settling=told(
        "only in the report file: what nova has in progress, if the verdict has an unfinished operation", TEXT
    ),
    consumer_uuid=maybe(TEXT),
    consumer_key=TEXT,
    consumer_name=TEXT,
    consumer_kind=TEXT,
    cause=TEXT,
    provider=TEXT,
    provider_uuid=TEXT,
    resource_class=TEXT,
    promised=maybe(WHOLE),
    held=maybe(WHOLE),
    recorded=maybe(WHOLE),
    verdict=TEXT,
    source=TEXT,
    size_bytes=maybe(COUNT),
)
STORAGE_ROW = obj(
    "ledger --storage",
    store=TEXT,
    store_bytes=COUNT,
    owner_kind=TEXT,
    owner=TEXT,
    what=TEXT,
    source=TEXT,
    size_bytes=WHOLE,
)
_WANTED = {name: maybe(shape) for name, shape in {**AMOUNTS, "allocation_ratio": NUMBER}.items()}
_RECORDED = {f"recorded_{name}": shape for name, shape in _WANTED.items()}
_USE = {"used": maybe(COUNT), "free": maybe(NUMBER)}
_OF_INVENTORY = {"provider": TEXT, "provider_uuid": TEXT, "resource_class": TEXT}
INVENTORY_ROW = obj(
    "inventory",
    optional=(*_RECORDED, "differs", "terms"),
    **_OF_INVENTORY,
    **_WANTED,
    **_USE,
    **_RECORDED,
    differs=TEXT,
    terms=told("the parts of reserved", each(obj("explain", "inventory.terms", name=TEXT, amount=NUMBER))),
)
TRAIT_ROW = obj(
    "traits",
    provider=TEXT,
    provider_uuid=TEXT,
    trait=TEXT,
    wanted=YES_NO,
    recorded=maybe(YES_NO),
    owner=TEXT,
)
FINDING_ROW = obj(
    "findings",
    id=TEXT,
    code=TEXT,
    severity=SEVERITY,
    state=STATE,
    confirmed=YES_NO,
    subject=TEXT,
    consumer_uuid=maybe(TEXT),
    resource_class=maybe(TEXT),
    provider_uuid=maybe(TEXT),
    headline=TEXT,
    first_seen_at=TIME,
    last_seen_at=TIME,
    caused_by=each(TEXT),
    fix=maybe(TEXT),
    inspect=maybe(TEXT),
    hand=maybe(TEXT),
)

STATUS = obj(
    "status",
    **AUDIT_KEYS,
    report_file=TEXT,
    age_s=NUMBER,
    interval_s=maybe(NUMBER),
    stale=YES_NO,
    resource_view=maybe(RESOURCE_VIEW),
    free=each(obj("status", "free", **_OF_INVENTORY, **_USE)),
)
REPORT = obj(
    "",
    optional=("agent_version",),
    schema_version=told("the version of the form", VERSION),
    agent_version=told("the version of the daemon that wrote the file", TEXT),
    audit=told("the audit, as stocktake audit prints it", ref("audit")),
    ledger=told("the rows of stocktake ledger", each(LEDGER_ROW)),
    storage=told("the rows of stocktake ledger --storage", each(STORAGE_ROW)),
    inventory=told("the rows of stocktake inventory --diff", each(INVENTORY_ROW)),
    traits=told("the rows of stocktake traits", each(TRAIT_ROW)),
    evacuations=told(
        "finished evacuations away from this host",
        each(
            obj(
                "explain",
                "evacuations",
                instance_uuid=TEXT,
                migration_uuid=TEXT,
                status=TEXT,
                dest_host=TEXT,
                vcpus=maybe(COUNT),
                memory_mib=maybe(COUNT),
            )
        ),
    ),
    summary=told("the numbers of nova-compute's three log lines", maybe(OPEN_OBJECT)),
    resource_view=told("the host as a compute node record describes it", maybe(RESOURCE_VIEW)),
    cell_usages=told("the guests' use of each NUMA cell", maybe(each(OPEN_OBJECT))),
    names=told("the names by which people know a consumer", each(OPEN_OBJECT)),
    providers=told("the resource providers of the host's tree", each(OPEN_OBJECT)),
)
