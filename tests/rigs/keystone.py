"""A real Keystone, and a real Placement that validates each token with it, on their own MariaDB, under gunicorn.

Placement's token cache is off here; by default it keeps a token for 300 s. So the next request with a revoked token is
refused, not one five minutes later. Placement reports an unreachable Keystone at once, without retries. Passwords are
hashed with as few rounds as Keystone allows.
"""

from __future__ import annotations

import base64
import contextlib
import os
import secrets
import signal
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from agent.placement.http.client import PlacementClient
from tests.rigs import mariadb
from tests.rigs.keystone_env import keystone_python
from tests.rigs.mariadb import MariaDb, free_port
from tests.rigs.wait import until

REGION = "RegionOne"
ADMIN_PASSWORD = "rig-admin-4f2"
SERVICE_PASSWORD = "rig-service-9d1"
START_TIMEOUT_S = 240.0
SETUP_TIMEOUT_S = 240.0
INTERFACES = ("public", "internal", "admin")

_KEYSTONE = """\
[DEFAULT]
log_file = {folder}/keystone.log
default_log_levels = keystone=INFO
[database]
connection = {connection}
[token]
provider = fernet
[fernet_tokens]
key_repository = {folder}/fernet-keys
[fernet_receipts]
key_repository = {folder}/fernet-receipts
[credential]
key_repository = {folder}/credential-keys
[identity]
password_hash_rounds = 4
[oslo_middleware]
enable_proxy_headers_parsing = true
"""

_PLACEMENT = """\
[DEFAULT]
log_file = {folder}/placement.log
[api]
auth_strategy = keystone
[placement_database]
connection = {connection}
sync_on_startup = true
[keystone_authtoken]
auth_type = password
auth_url = {auth_url}
www_authenticate_uri = {auth_url}
username = placement
password = {password}
project_name = service
user_domain_name = Default
project_domain_name = Default
service_type = placement
token_cache_time = -1
http_request_max_retries = 0
"""

# The settings are in a file because Keystone reads sys.argv itself. gunicorn runs one thread, because it writes a
# request's access log line after sending the answer. With two threads the line of a later request might come first.
_GUNICORN = """\
wsgi_app = {application!r}
bind = "127.0.0.1:{port}"
workers = 1
worker_class = "gthread"
threads = 1
timeout = 60
keepalive = 75
control_socket_disable = True
worker_tmp_dir = {folder!r}
accesslog = {access!r}
access_log_format = "%(m)s %({{raw_uri}}e)s %(s)s %(a)s"
"""


class WsgiServer:
    """One service under gunicorn, on a port that it keeps over a restart; ``access_log``: method, path, status, agent.

    ``environ`` is the environment that the service needs besides the settings.
    """

    def __init__(self, folder: Path, application: str, environ: dict[str, str]) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.access_log = folder / "access.log"
        self._application = application
        self._environ = environ
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def runs(self) -> bool:
        """Whether the server was started and not stopped since."""
        return self._process is not None

    def launch(self) -> None:
        """Start the server without waiting."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.access_log.touch()
        settings = self.folder / "gunicorn.py"
        settings.write_text(
            _GUNICORN.format(
                application=self._application, port=self.port, folder=str(self.folder), access=str(self.access_log)
            )
        )
        with (self.folder / "gunicorn.log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(keystone_python().parent / "gunicorn")],
                env=_environment(GUNICORN_CMD_ARGS=f"-c {settings}", **self._environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def ready(self) -> None:
        """Wait until the server answers."""
        until(self._answers, START_TIMEOUT_S, f"{self._application} in {self.folder} answers")

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self.launch()
        self.ready()

    def stop(self) -> None:
        """Stop the server and its workers and wait until they exit. Safe to call twice."""
        process, self._process = self._process, None
        if process is None:
            return
        # SIGINT is gunicorn's quick shutdown; at SIGTERM it waits for keep-alive connections.
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(20)

    def asked(self) -> list[str]:
        """Return ``METHOD path status user-agent`` of every request so far, without this method's own request."""
        # Requests are served one after the other, so the marker's line proves that the lines of all others are written.
        marker = f"/?marker={uuid.uuid4()}"
        requests.get(self.url + marker, timeout=60)
        lines = until(lambda: self._lines_with(marker), 60, f"the access log of {self._application} is written")
        return [line for line in lines if "marker=" not in line]

    def _lines_with(self, marker: str) -> list[str]:
        lines = self.access_log.read_text().splitlines()
        return lines if any(marker in line for line in lines) else []

    def _answers(self) -> bool:
        assert self._process is not None, "the server was not started"
        status = self._process.poll()
        assert status is None, f"gunicorn ended with {status}:\n{(self.folder / 'gunicorn.log').read_text()}"
        try:
            return requests.get(self.url, timeout=5).status_code < 500
        except requests.RequestException:
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user with its project, and the configuration options for them."""

    user: str
    name: str
    password: str
    project: str
    project_name: str

    def options(self, auth_url: str, **changes: object) -> dict[str, object]:
        """Return the [placement] options that authenticate as this user; an option of None is left out."""
        options: dict[str, object] = {
            "auth_type": "password",
            "auth_url": auth_url,
            "username": self.name,
            "password": self.password,
            "project_name": self.project_name,
            "user_domain_name": "Default",
            "project_domain_name": "Default",
            "region_name": REGION,
        }
        return {name: value for name, value in (options | changes).items() if value is not None}


class Identity:
    """An administrator's client of Keystone. Every method fails the test if Keystone refuses the request."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._session = requests.Session()
        self._roles: dict[str, str] = {}
        self._token = self.token("admin", ADMIN_PASSWORD, {"name": "admin", "domain": {"id": "default"}})

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def token(self, name: str, password: str, project: dict[str, object]) -> str:
        """Return a new token for a project, for a user of the default domain."""
        user = {"name": name, "password": password, "domain": {"id": "default"}}
        body = {
            "auth": {
                "identity": {"methods": ["password"], "password": {"user": user}},
                "scope": {"project": project},
            }
        }
        answer = self._session.post(f"{self.url}/v3/auth/tokens", json=body, timeout=60)
        assert answer.status_code == 201, f"{answer.status_code} {answer.text}"
        return answer.headers["X-Subject-Token"]

    def token_of(self, account: Account) -> str:
        """Return a new token of the account."""
        return self.token(account.name, account.password, {"id": account.project})

    def done(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        """Send a request; return the decoded answer, None if it has no body."""
        sent = {"X-Auth-Token": self._token, **headers}
        answer = self._session.request(method, f"{self.url}/v3{path}", json=body, headers=sent, timeout=60)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def make_project(self, name: str) -> str:
        """Make a project; return its id."""
        return str(self.done("POST", "/projects", {"project": {"name": name, "domain_id": "default"}})["project"]["id"])

    def make_user(self, name: str, password: str) -> str:
        """Make a user; return its id."""
        user = {"name": name, "password": password, "domain_id": "default"}
        return str(self.done("POST", "/users", {"user": user})["user"]["id"])

    def make_account(self, role: str = "service") -> Account:
        """Make a user and a project for it, with one role on that project."""
        name = f"stocktake-{uuid.uuid4().hex[:8]}"
        password = f"pw-{secrets.token_hex(12)}"
        project, user = self.make_project(f"project-of-{name}"), self.make_user(name, password)
        self.grant(user, project, role)
        return Account(user=user, name=name, password=password, project=project, project_name=f"project-of-{name}")

    def grant(self, user: str, project: str, role: str) -> None:
        """Grant a role on a project."""
        self.done("PUT", f"/projects/{project}/users/{user}/roles/{self._role(role)}")

    def change_user(self, user: str, **changes: object) -> None:
        """Change the user: disable it, set another password, …"""
        self.done("PATCH", f"/users/{user}", {"user": changes})

    def make_credential(self, account: Account, rules: list[dict[str, str]] | None = None) -> dict[str, str]:
        """Make an application credential of the account; return its id and secret."""
        credential: dict[str, object] = {"name": f"cred-{uuid.uuid4().hex[:8]}"}
        if rules is not None:
            credential["access_rules"] = rules
        body = {"application_credential": credential}
        path = f"/users/{account.user}/application_credentials"
        made = self.done("POST", path, body, **{"X-Auth-Token": self.token_of(account)})["application_credential"]
        return {"id": made["id"], "secret": made["secret"]}

    def delete_credential(self, account: Account, credential: str) -> None:
        """Delete an application credential."""
        path = f"/users/{account.user}/application_credentials/{credential}"
        self.done("DELETE", path, **{"X-Auth-Token": self.token_of(account)})

    def revoke(self, token: str) -> None:
        """Revoke one token before it expires."""
        self.done("DELETE", "/auth/tokens", **{"X-Subject-Token": token})

    def make_service(self, kind: str) -> str:
        """Make a service; return its id."""
        return str(self.done("POST", "/services", {"service": {"type": kind, "name": kind}})["service"]["id"])

    def make_region(self) -> str:
        """Make a region; return its id."""
        return str(self.done("POST", "/regions", {"region": {"id": f"Region-{uuid.uuid4().hex[:8]}"}})["region"]["id"])

    def make_endpoint(self, service: str, interface: str, url: str, region: str = REGION) -> str:
        """Make an endpoint; return its id."""
        endpoint = {"service_id": service, "interface": interface, "url": url, "region_id": region}
        return str(self.done("POST", "/endpoints", {"endpoint": endpoint})["endpoint"]["id"])

    def move_endpoint(self, endpoint: str, url: str) -> None:
        """Set another URL for the endpoint."""
        self.done("PATCH", f"/endpoints/{endpoint}", {"endpoint": {"url": url}})

    def _role(self, name: str) -> str:
        if name not in self._roles:
            self._roles = {role["name"]: role["id"] for role in self.done("GET", "/roles")["roles"]}
        return self._roles[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """The running cloud; ``service`` is Placement's id in the catalog, which lists it in REGION on each interface."""

    database: MariaDb
    keystone: WsgiServer
    placement: WsgiServer
    identity: Identity
    service: str

    @property
    def auth_url(self) -> str:
        """Keystone's URL as configuration files name it."""
        return f"{self.keystone.url}/v3"

    def rest(self, method: str, path: str, body: object = None, version: str = "1.36") -> Any:
        """Send a request to Placement as the administrator."""
        token = self.identity.token("admin", ADMIN_PASSWORD, {"name": "admin", "domain": {"id": "default"}})
        headers = {"X-Auth-Token": token, "OpenStack-API-Version": f"placement {version}"}
        answer = requests.request(method, self.placement.url + path, json=body, headers=headers, timeout=60)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None


def token_in_hand(client: PlacementClient) -> str:
    """Return the token that this client sends; only tests ask for it."""
    return str(client._adapter.get_token())


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Cloud]:
    """Yield the running cloud; stop every process by its pid in any case."""
    with mariadb.running(folder / "mariadb") as database, contextlib.ExitStack() as stack:
        keystone = _keystone(folder / "keystone", database)
        placement = _placement(folder / "placement", database, f"{keystone.url}/v3")
        for server in (keystone, placement):
            stack.callback(server.stop)
        # Most of the start-up is imports, and neither service opens its database before the first request.
        placement.launch()
        keystone.launch()
        _set_up(keystone)
        keystone.ready()
        identity = Identity(keystone.url)
        stack.callback(identity.close)
        service = _fill(identity, placement.url)
        placement.ready()
        yield Cloud(database=database, keystone=keystone, placement=placement, identity=identity, service=service)


def _keystone(folder: Path, database: MariaDb) -> WsgiServer:
    folder.mkdir(parents=True)
    connection = database.create_database("keystone")
    (folder / "keystone.conf").write_text(_KEYSTONE.format(folder=folder, connection=connection))
    for name in ("fernet-keys", "fernet-receipts", "credential-keys"):
        _make_keys(folder / name)
    return WsgiServer(folder, "keystone.wsgi.api:application", {"OS_KEYSTONE_CONFIG_DIR": str(folder)})


def _make_keys(folder: Path) -> None:
    """Make a staged and a primary key as ``keystone-manage fernet_setup`` does, without the seconds of its start-up."""
    folder.mkdir(mode=0o700)
    for name in ("0", "1"):
        with os.fdopen(os.open(folder / name, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(base64.urlsafe_b64encode(secrets.token_bytes(32)))


def _set_up(keystone: WsgiServer) -> None:
    program = [str(keystone_python().parent / "keystone-manage"), "--config-dir", str(keystone.folder)]
    _run([*program, "db_sync"])
    urls = [argument for name in INTERFACES for argument in (f"--bootstrap-{name}-url", f"{keystone.url}/v3/")]
    _run([*program, "bootstrap", "--bootstrap-password", ADMIN_PASSWORD, "--bootstrap-region-id", REGION, *urls])


def _placement(folder: Path, database: MariaDb, auth_url: str) -> WsgiServer:
    folder.mkdir(parents=True)
    connection = database.create_database("placement")
    (folder / "placement.conf").write_text(
        _PLACEMENT.format(folder=folder, connection=connection, auth_url=auth_url, password=SERVICE_PASSWORD)
    )
    return WsgiServer(folder, "placement.wsgi.api:application", {"OS_PLACEMENT_CONFIG_DIR": str(folder)})


def _fill(identity: Identity, placement_url: str) -> str:
    """Make Placement's user and its catalog entry in Keystone; return the service's id."""
    project, user = identity.make_project("service"), identity.make_user("placement", SERVICE_PASSWORD)
    for role in ("admin", "service"):
        identity.grant(user, project, role)
    service = identity.make_service("placement")
    for interface in INTERFACES:
        identity.make_endpoint(service, interface, placement_url)
    return service


def _environment(**additions: str) -> dict[str, str]:
    """Return this process's environment without variables that would misdirect OpenStack's programs or requests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OS_", "PYTHON"))}
    return {**kept, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", **additions}


def _run(command: list[str]) -> None:
    done = subprocess.run(
        command, env=_environment(), capture_output=True, text=True, timeout=SETUP_TIMEOUT_S, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
