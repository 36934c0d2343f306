"""JSON at Keystone's URL that is not Keystone's: a passing failure, which ends with the next good answer."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.errors import PlacementError, PlacementUnavailable
from agent.placement import wire
from agent.placement.http.client import MINIMUM, PlacementClient
from tests.rigs.faults import Answer, ScriptedAdapter
from tests.rigs.placement import TOKEN, client_of

KEYSTONE = "http://keystone.example:5000"
JSON = ("Content-Type", "application/json")
SUBJECT = ("X-Subject-Token", TOKEN)


def versions(found: object) -> dict[str, Any]:
    return {"versions": found}


def version() -> dict[str, Any]:
    return {"id": "v3.14", "status": "stable", "links": [{"rel": "self", "href": f"{KEYSTONE}/v3/"}]}


def token(endpoint: dict[str, Any]) -> dict[str, Any]:
    catalog = [{"type": "placement", "id": "s", "name": "placement", "endpoints": [endpoint]}]
    project = {"id": "p", "name": "service", "domain": {"id": "default", "name": "Default"}}
    return {"token": {"expires_at": "2099-01-01T00:00:00.000000Z", "project": project, "catalog": catalog}}


class Keystone:
    """A stand-in for Keystone in a transport's script; a test can set odd answers."""

    def __init__(self, placement_url: str) -> None:
        endpoint = {"id": "e", "interface": "internal", "region": "R", "region_id": "R", "url": placement_url}
        self.token = token(endpoint)
        self.odd: dict[str, Answer] = {}

    def __call__(self, request: Any) -> Answer | None:
        if not str(request.url).startswith(KEYSTONE):
            return None
        said = self.odd.get(request.method)
        if said is not None:
            return said
        if "/elsewhere" in str(request.url):
            return told(404, {"error": {"code": 404, "title": "Not Found", "message": "nothing is here"}})
        if request.method == "GET":
            return Answer(300, json.dumps(versions({"values": [version()]})).encode(), (JSON,))
        return Answer(201, json.dumps(self.token).encode(), (JSON, SUBJECT))


def told(status: int, document: object, *headers: tuple[str, str]) -> Answer:
    return Answer(status, json.dumps(document).encode(), (JSON, *headers))


def client_before(keystone: Keystone, folder: Path) -> PlacementClient:
    return client_of(
        folder,
        "",
        transport=ScriptedAdapter(keystone),
        auth_type="password",
        auth_url=KEYSTONE,
        username="stocktake",
        password="hunter2-secret",
        project_name="service",
        user_domain_name="Default",
        project_domain_name="Default",
    )


@pytest.mark.parametrize(
    ("method", "odd"),
    [
        ("GET", told(300, versions(None))),
        ("GET", told(200, versions([]))),
        ("GET", told(200, versions([{"id": None, "status": "stable", "links": []}]))),
        ("POST", told(201, {"token": {}}, SUBJECT)),
        ("POST", told(201, token({"interface": "internal"}), SUBJECT)),
        ("POST", told(201, token({"url": "http://p.example"}), SUBJECT)),
        ("POST", told(201, token({}))),
        ("POST", told(200, 5)),
        ("POST", told(503, {"errors": ["no upstream"]})),
        ("POST", Answer(500, b"[" * 100_000, (JSON,))),
    ],
    ids=[
        "versions-null",
        "no-version",
        "a-version-without-id",
        "a-token-without-end",
        "an-endpoint-without-url",
        "an-endpoint-without-interface",
        "a-token-without-itself",
        "a-number",
        "errors-that-are-words",
        "too-deep",
    ],
)
def test_a_malformed_keystone_answer_raises_an_error(rest, tmp_path, method, odd):
    """The agent's requests raise PlacementUnavailable while Keystone sends malformed answers."""
    keystone = Keystone(rest.server.url)
    client = client_before(keystone, tmp_path)
    keystone.odd[method] = odd
    for _ in range(2):
        with pytest.raises(PlacementUnavailable, match=f"no token from Keystone at {KEYSTONE}") as raised:
            client.get("/traits", MINIMUM, wire.parse_trait_names)
        assert "hunter2" not in str(raised.value)
    del keystone.odd[method]
    assert "HW_CPU_X86_AVX2" in client.get("/traits", MINIMUM, wire.parse_trait_names)


def test_errors_contain_placements_url(rest, tmp_path):
    """A request fails with 404, and the agent's error contains the URL that Keystone gave for Placement."""
    keystone = Keystone(rest.server.url)
    client = client_before(keystone, tmp_path)
    keystone.odd["POST"] = told(503, {"errors": ["no upstream"]})
    with pytest.raises(PlacementUnavailable) as before:
        client.get("/traits", MINIMUM, wire.parse_trait_names)
    assert before.value.endpoint is None
    del keystone.odd["POST"]
    with pytest.raises(PlacementError, match="404") as after:
        client.get("/no-such-thing?name=a%20b", MINIMUM, wire.parse_trait_names)
    assert after.value.endpoint == rest.server.url


def test_a_wrong_url_from_keystone_is_not_kept(rest, tmp_path):
    """Keystone's list of versions once contains a wrong URL, and a request fails.

    The next request reads the list again.
    """
    keystone = Keystone(rest.server.url)
    client = client_before(keystone, tmp_path)
    astray = {**version(), "links": [{"rel": "self", "href": f"{KEYSTONE}/elsewhere/v3/"}]}
    keystone.odd["GET"] = told(300, versions({"values": [astray]}))
    with pytest.raises(PlacementError, match="404"):
        client.get("/traits", MINIMUM, wire.parse_trait_names)
    del keystone.odd["GET"]
    assert "HW_CPU_X86_AVX2" in client.get("/traits", MINIMUM, wire.parse_trait_names)
