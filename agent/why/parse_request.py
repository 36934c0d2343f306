"""Parse the request to Placement, from the options of the command line or from a query string of Placement.

The options are another notation of the query: both become (key, text) pairs, which the same code parses. A request
that Placement would answer with 400 raises UsageError. agent/cmd/why_validate.py checks whether the named classes and
traits exist.

A group without a suffix may take its resources from several providers of a tree. A group with a suffix takes all its
resources from one provider. For traits and for aggregates, ``in:A,B`` means at least one of the names. For traits,
``A,B`` means all of the names. For aggregates, ``A,B`` is an error.
"""

from __future__ import annotations

import re
import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from agent.model.nova import Instance
from agent.model.resource_request import RequestGroup, ResourceRequest
from agent.resources.demand import demand
from agent.text.nearest import nearest
from agent.usage_error import UsageError
from agent.why.flavor import trait_specs

Pairs = Sequence[tuple[str, str]]

# The largest amount that Placement and its database column accept.
MOST = 2**31 - 1
POLICIES = ("none", "isolate")
_OF_GROUPS = ("resources", "required", "member_of", "in_tree")
_OF_ALL = ("group_policy", "root_required", "same_subtree")
# Keys that ``stocktake why`` ignores, because they only limit how many candidates Placement returns.
_NO_MATTER = ("limit",)
_KEY = re.compile(r"(resources|required|member_of|in_tree)([a-zA-Z0-9_-]{1,64})?")
_LIMIT = re.compile(r"[1-9][0-9]*")
_NAME = re.compile(r"[A-Z0-9_]{1,255}")
# In a log, a URL ends before the first quote or blank. After a blank, "HTTP/1.1" or other text follows.
_AFTER_URL = re.compile(r"[ '\"]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The options of the request as the operator typed them, unparsed."""

    resources: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    member_of: tuple[str, ...] = ()
    in_tree: str | None = None
    query: str | None = None


def request_of(words: Words, instance: Instance | None = None) -> ResourceRequest:
    """Return the request. If ``instance`` is given, request its flavor. Raises UsageError if an option is invalid.

    The classes that the operator typed are added to the flavor's classes. For a class in both, the typed amount
    applies.
    """
    if words.query is not None:
        if instance or any((words.resources, words.required, words.forbidden, words.member_of, words.in_tree)):
            raise UsageError("--query is the whole request, so leave out the other options of the request")
        return request_of_pairs(_of_query(words.query))
    return request_of_pairs(_of_options(words, instance))


def request_of_pairs(pairs: Pairs) -> ResourceRequest:
    """Return the request for the (key, text) pairs of a query. If a pair is invalid, UsageError says which."""
    by_suffix = _by_suffix(pairs)
    groups = tuple(_group(suffix, by_suffix[suffix]) for suffix in sorted(by_suffix))
    root_required, root_forbidden = _root_traits(pairs)
    policy = _once(pairs, "group_policy")
    if policy is not None and policy not in POLICIES:
        raise UsageError(f"group_policy must be {' or '.join(POLICIES)}, not {policy or 'an empty text'}")
    request = ResourceRequest(
        groups=groups,
        group_policy=policy,
        root_required=root_required,
        root_forbidden=root_forbidden,
        same_subtree=tuple(frozenset(_listed(key, text)) for key, text in pairs if key == "same_subtree"),
    )
    _refuse_odd(request)
    return request


def canonical_uuid(text: str) -> str | None:
    """Return the uuid in Placement's notation, None if the text is not a uuid."""
    try:
        return str(uuid.UUID(text.strip()))
    except ValueError:
        return None


def _of_query(query: str) -> Pairs:
    """Return the name and value pairs of a URL's query.

    ``query`` may also be a whole log line that contains the URL.
    """
    text = query.strip().strip("'\"")
    _, is_of_url, rest = text.partition("?")
    if is_of_url:
        text = _AFTER_URL.split(rest, maxsplit=1)[0]
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True)
    except ValueError as error:
        raise UsageError(f"--query {query!r} is not a query string: {error}") from None
    for key, value in pairs:
        _known_key(key)
        _refuse_respelt(key, value)
        if key == "limit" and not _LIMIT.fullmatch(value):
            raise UsageError(f"limit: {value or 'an empty text'} is not a limit: use a whole number from 1")
    return [(key, text) for key, text in pairs if key not in _NO_MATTER]


def _known_key(key: str) -> None:
    if key in (*_OF_ALL, *_NO_MATTER) or _KEY.fullmatch(key):
        return
    near = nearest(key, (*_OF_GROUPS, *_OF_ALL))
    raise UsageError(f"unknown key {key} in --query" + (f": did you mean {near}?" if near else ""))


def _refuse_respelt(key: str, text: str) -> None:
    """Raise UsageError for a uuid in capitals or without dashes: Placement accepts such a uuid but may not find it."""
    match = _KEY.fullmatch(key)
    if match is None or match[1] not in ("member_of", "in_tree"):
        return
    for one in text.removeprefix("!").removeprefix("in:").split(","):
        right = canonical_uuid(one)
        if right not in (None, one):
            raise UsageError(f"{key}: use {right}, because Placement stores this form and may not find {one}")


def _of_options(words: Words, instance: Instance | None) -> Pairs:
    amounts = _of_flavor(instance) if instance else {}
    amounts |= _typed_amounts(words.resources)
    if not amounts:
        raise UsageError("nothing is asked for: --resource CLASS=AMOUNT, --query or --flavor-of is needed")
    resources = ",".join(f"{name}:{amount}" for name, amount in sorted(amounts.items()))
    pairs = [("resources", resources), *(("required", _in_capitals(text)) for text in words.required)]
    pairs += [("required", text) for text in (trait_specs(instance.flavor) if instance and instance.flavor else ())]
    pairs += [("required", f"!{name}") for text in words.forbidden for name in _forbidden(_in_capitals(text))]
    pairs += [("member_of", text) for text in words.member_of]
    return [*pairs, ("in_tree", words.in_tree)] if words.in_tree is not None else pairs


def _in_capitals(text: str) -> str:
    """Return the names of traits in capitals, as Placement writes them; the prefix ``in:`` stays as it is."""
    prefix = "in:" if text.startswith("in:") else ""
    return prefix + text.removeprefix("in:").upper()


def _forbidden(text: str) -> list[str]:
    if text.startswith("in:"):
        raise UsageError(
            f'--forbidden {text}: leave out the prefix "in:"; --forbidden always forbids every named trait'
        )
    return _listed("--forbidden", text)


def _typed_amounts(texts: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, sign, number = text.partition("=") if "=" in text else text.partition(":")
        if not sign:
            raise UsageError(f"--resource {text} does not have the form CLASS=AMOUNT")
        resource_class = name.strip().upper()
        if resource_class in found:
            raise UsageError(f"--resource {resource_class} is given twice")
        found[resource_class] = number.strip()
    return found


def _of_flavor(instance: Instance) -> dict[str, str]:
    if instance.flavor is None:
        raise UsageError(f"the flavor of instance {instance.uuid} cannot be read: {instance.problem or 'unknown'}")
    asked = demand(instance.flavor, boots_from_volume=instance.boots_from_volume)
    return {name: str(amount) for name, amount in asked.items()}


def _by_suffix(pairs: Pairs) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for key, text in pairs:
        if match := _KEY.fullmatch(key):
            found[match[2] or ""].append((match[1], text))
    return found


def _group(suffix: str, parts: Sequence[tuple[str, str]]) -> RequestGroup:
    texts: dict[str, list[str]] = {key: [text for name, text in parts if name == key] for key in _OF_GROUPS}
    for key in ("resources", "in_tree"):
        if len(texts[key]) > 1:
            raise UsageError(f"{key}{suffix} is given {len(texts[key])} times, but may be given only once")
    required, forbidden = _traits(f"required{suffix}", texts["required"])
    member_of, forbidden_aggregates = _aggregates(f"member_of{suffix}", texts["member_of"])
    return RequestGroup(
        suffix=suffix,
        resources=_amounts(texts["resources"][0]) if texts["resources"] else (),
        required=required,
        forbidden=forbidden,
        member_of=member_of,
        forbidden_aggregates=forbidden_aggregates,
        in_tree=_uuid(f"in_tree{suffix}", texts["in_tree"][0]) if texts["in_tree"] else None,
    )


def _amounts(text: str) -> tuple[tuple[str, int], ...]:
    found: dict[str, int] = {}
    for part in text.split(","):
        name, sign, number = part.partition(":")
        if not sign:
            raise UsageError(f"{part or 'an empty text'} does not have the form CLASS:AMOUNT")
        if name in found:
            raise UsageError(f"{name} is asked for twice in one group")
        found[_name("resource class", name)] = _amount(name, number)
    return tuple(sorted(found.items()))


def _amount(resource_class: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise UsageError(f"{resource_class}={text}: the amount must be a whole number between 1 and {MOST}")
    # int() raises an error for a text of thousands of digits. So a text of 20 digits or more is not parsed, and counts
    # as too large.
    amount = int(text) if len(text) < 20 else MOST + 1
    if not 1 <= amount <= MOST:
        raise UsageError(f"{resource_class}={text[:20]}: the amount must be between 1 and {MOST}")
    return amount


def _name(what: str, text: str) -> str:
    if _NAME.fullmatch(text):
        return text
    near = re.sub(r"[^A-Z0-9_]+", "_", text.upper()).strip("_") if text.isascii() else ""
    hint = f": did you mean {near}?" if near else ""
    raise UsageError(f"{text or 'an empty text'} is not a name of a {what} (use only upper case, digits and _){hint}")


def _traits(key: str, texts: Iterable[str]) -> tuple[tuple[frozenset[str], ...], frozenset[str]]:
    required: set[frozenset[str]] = set()
    forbidden: set[str] = set()
    for text in texts:
        if text.startswith("in:"):
            required.add(frozenset(_name("trait", name) for name in _listed(key, text[3:])))
            continue
        for name in _listed(key, text):
            if name.startswith("!"):
                forbidden.add(_name("trait", name[1:]))
            else:
                required.add(frozenset((_name("trait", name),)))
    return tuple(sorted(required, key=sorted)), frozenset(forbidden)


def _aggregates(key: str, texts: Iterable[str]) -> tuple[tuple[frozenset[str], ...], frozenset[str]]:
    required: set[frozenset[str]] = set()
    forbidden: set[str] = set()
    for text in texts:
        plain = text.removeprefix("!")
        if "," in plain and not plain.startswith("in:"):
            raise UsageError(
                f'{key}: {text}: several aggregates need a prefix: "in:A,B" (any of them) or "!in:A,B" (none of them)'
            )
        uuids = frozenset(_uuid(key, one) for one in _listed(key, plain.removeprefix("in:")))
        if text.startswith("!"):
            forbidden |= uuids
        else:
            required.add(uuids)
    return tuple(sorted(required, key=sorted)), frozenset(forbidden)


def _listed(key: str, text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise UsageError(f"{key}: {text or 'an empty text'} contains an empty name")
    return names


def _uuid(key: str, text: str) -> str:
    if (found := canonical_uuid(text)) is None:
        raise UsageError(f"{key}: {text or 'an empty text'} is not a uuid")
    return found


def _root_traits(pairs: Pairs) -> tuple[frozenset[str], frozenset[str]]:
    text = _once(pairs, "root_required")
    if text is None:
        return frozenset(), frozenset()
    if text.startswith("in:"):
        raise UsageError('root_required does not accept the prefix "in:"')
    required, forbidden = _traits("root_required", [text])
    names = frozenset(name for some in required for name in some)
    if names & forbidden:
        raise UsageError(f"root_required both asks for and forbids {', '.join(sorted(names & forbidden))}")
    return names, forbidden


def _once(pairs: Pairs, key: str) -> str | None:
    texts = [text for name, text in pairs if name == key]
    if len(texts) > 1:
        raise UsageError(f"{key} is given {len(texts)} times, but may be given only once")
    return texts[0] if texts else None


def _refuse_odd(request: ResourceRequest) -> None:
    """Raise UsageError if each key alone is valid, but Placement answers 400 because of the keys together.

    The rules are those in lib.py of Placement 16.0.0.
    """
    by_suffix = {group.suffix: group for group in request.groups}
    if not any(group.resources for group in request.groups):
        raise UsageError("nothing is asked for: no group has resources")
    joined = frozenset().union(*request.same_subtree)
    if unknown := sorted(joined - by_suffix.keys()):
        raise UsageError(f"same_subtree refers to {', '.join(unknown)}, but the request has no such group")
    for suffix, group in by_suffix.items():
        if not group.resources and suffix not in joined:
            raise UsageError(
                f"group {suffix or 'without a suffix'} asks for no resources, so a same_subtree must name this group"
            )
        for some in group.required:
            if some <= group.forbidden:
                raise UsageError(f"required{suffix} both asks for and forbids {', '.join(sorted(some))}")
    if request.group_policy is None and len(by_suffix.keys() - {""}) > 1:
        raise UsageError("if several groups have a suffix, group_policy=none or group_policy=isolate is needed")
