"""Build a PlacementClient from configuration: keystoneauth's own options in one group, ``[placement]`` by default.

The group accepts all options of nova.conf's [placement]: any auth plugin, TLS options, endpoint_override, the catalog.
``auth_type`` must be set: without a plugin keystoneauth fails only at the first request and does not say why.

This module opens no connection, but it reads the TLS files: a wrong path makes the start fail. A URL without scheme or
host also makes the start fail, because keystoneauth would look up such a text in the catalog. Each error text names the
configuration file that sets the option (agent/config/traced_conf.py).

keystoneauth's plugin ``none`` sends the token "notused". A Placement with ``auth_strategy = noauth2`` rejects that
token (403); such a Placement accepts ``admin_token`` with the token ``admin``.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator

from keystoneauth1 import exceptions as kx
from keystoneauth1 import loading as ks
from keystoneauth1.identity import generic
from keystoneauth1.identity.base import BaseIdentityPlugin
from keystoneauth1.plugin import BaseAuthPlugin
from oslo_config import cfg
from requests.adapters import HTTPAdapter

from agent.errors import ConfigError
from agent.placement.http.answers import quoted
from agent.placement.http.catalog import CatalogAdapterLoader
from agent.placement.http.client import PlacementClient
from agent.placement.http.rate_control import Manners
from agent.placement.http.session import TokenSessionLoader
from agent.placement.http.throttled_session import PacedSession, Watch, unwatched
from agent.placement.http.tls_files import tls_problems
from agent.placement.http.transport import BoundedAdapter
from agent.placement.http.unanswered_time import UnansweredTime
from agent.placement.http.urllib3_versions import accepted_encodings
from agent.text.urls import url_problem, without_login

# The number of pooled connections. One connection suffices, because only the audit's thread sends requests. The second
# connection replaces a connection that the server has just closed.
POOL_SIZE = 2


def client_from_conf(
    conf: cfg.ConfigOpts,
    group: str = "placement",
    transport: HTTPAdapter | None = None,
    *,
    pause_at_most_s: float = math.inf,
    wait: Callable[[float], None] = time.sleep,
    unanswered_at_most_s: float = math.inf,
    watch: Watch = unwatched,
) -> PlacementClient:
    """Return a client with the options of the group ``group``. Tests pass ``transport`` to inject faults.

    After a late answer, a refusal or no answer, the client pauses before its next read, to spare Placement. The smaller
    of ``pause_at_most_s`` and the option ``longest_pause`` limits a pause. Commands pass a low limit, because their
    users wait. ``wait`` is the function that sleeps during a pause. It may return early. The client sends no more
    requests after its unanswered requests have together taken ``unanswered_at_most_s`` seconds. ``watch`` returns a
    context manager, which is active while a request waits for its answer.

    The caller must have registered the group's options (agent/config/options/placement.py). This function registers
    the auth plugin's own options and sends no request. Raises ConfigError naming the option that is missing or wrong.
    """
    try:
        manners = Manners(slow_s=conf[group].slow_answer, longest_s=min(pause_at_most_s, conf[group].longest_pause))
        unanswered = UnansweredTime(unanswered_at_most_s)
        return _build(conf, group, transport, PacedSession(manners, wait, unanswered=unanswered, watch=watch))
    except kx.ClientException as error:
        raise ConfigError(f"{_setting(conf, _section(conf, group), 'auth_type')}: {quoted(str(error))}") from error
    except (cfg.Error, TypeError, ValueError) as error:
        raise ConfigError(f"[{group}]: {quoted(str(error))}") from error


def _build(conf: cfg.ConfigOpts, group: str, transport: HTTPAdapter | None, http: PacedSession) -> PlacementClient:
    # The option ``auth_section`` may say that auth_type is in another section. So auth_type can be registered only now,
    # after the files were read and ``auth_section`` is known.
    ks.register_auth_conf_options(conf, group)
    auth = ks.load_auth_from_conf_options(conf, group)
    if auth is None:
        raise ConfigError(
            f"[{group}] auth_type is not set: name the plugin (password, v3applicationcredential, admin_token, "
            f"http_basic, none, …) and set its options, for instance by [agent] nova_conf = /etc/nova/nova.conf"
        )
    options = conf[group]
    if problems := (*_wrong_urls(conf, group, auth), *_missing(conf, group, auth), *_wrong_tls(conf, group, auth)):
        raise ConfigError(*problems)
    if options.insecure:
        # With ``insecure``, urllib3 warns at each request. Suppress the warning, because it would fill the daemon's
        # log and a command's screen.
        warnings.filterwarnings("ignore", message="Unverified HTTPS request")
    # keystoneauth has these two options since 5.14 (OpenStack 2026.1).
    tls = {name: options[name] for name in ("tls_ciphers", "tls_min_version") if name in options}
    carrier = transport or BoundedAdapter(pool_connections=POOL_SIZE, pool_maxsize=POOL_SIZE, **tls)
    http.headers["Accept-Encoding"] = accepted_encodings()
    http.mount("http://", carrier)
    http.mount("https://", carrier)
    session = TokenSessionLoader().load_from_conf_options(conf, group, auth=auth, session=http, app_name="stocktake")
    adapter = CatalogAdapterLoader().load_from_conf_options(conf, group, session=session, raise_exc=False)
    # Placement has only one major version. These three options are accepted, because nova.conf may set them, but have
    # no effect: obeying them would only add discovery requests.
    adapter.version = adapter.min_version = adapter.max_version = None
    return PlacementClient(adapter, http)


def _wrong_urls(conf: cfg.ConfigOpts, group: str, auth: BaseAuthPlugin) -> Iterator[str]:
    for owner, option, url in _urls(conf, group, auth):
        if problem := url_problem(url):
            yield f"{_setting(conf, owner, option)}: {problem}"


def _urls(conf: cfg.ConfigOpts, group: str, auth: BaseAuthPlugin) -> Iterator[tuple[str, str, str]]:
    """Yield group, option and value of each URL that is configured."""
    section = _section(conf, group)
    override = conf[group].endpoint_override
    named = [(group, "endpoint_override", override), (section, "auth_url", getattr(auth, "auth_url", None))]
    if not override:
        named.append((section, "endpoint", getattr(auth, "endpoint", None)))
    yield from ((owner, option, url) for owner, option, url in named if url)


def _missing(conf: cfg.ConfigOpts, group: str, auth: BaseAuthPlugin) -> Iterator[str]:
    section = _section(conf, group)
    plugin = _setting(conf, section, "auth_type")
    # keystoneauth notices a missing password only at the first request, and raises a bare Exception.
    if isinstance(auth, generic.Password) and conf[section].password is None:
        yield f"[{section}] password is not set: {plugin} needs it"
    # A plugin without Keystone gets neither a catalog nor a token, so the URL and any token must be configured.
    if isinstance(auth, BaseIdentityPlugin):
        return
    if not conf[group].endpoint_override and not getattr(auth, "endpoint", None):
        yield f"[{group}] endpoint_override is not set: {plugin} gets no catalog with the URL of Placement"
    if getattr(auth, "token", "given") is None:
        yield f"[{section}] token is not set: {plugin} needs it"


def _wrong_tls(conf: cfg.ConfigOpts, group: str, auth: BaseAuthPlugin) -> Iterator[str]:
    options = conf[group]
    # The library ``requests`` (HTTPAdapter.cert_verify) reads ``cafile`` only for an https URL, but ``certfile`` and
    # ``keyfile`` for any URL. So if all URLs are http, a missing ``cafile`` is no mistake, also for nova-compute.
    is_secure = any(url.lower().startswith("https") for _, _, url in _urls(conf, group, auth))
    cafile = options.cafile if is_secure else None
    for problem in tls_problems(cafile, options.certfile, options.keyfile):
        yield f"{_from(conf, group, problem.partition(' ')[0])}[{group}] {problem}"


def _section(conf: cfg.ConfigOpts, group: str) -> str:
    """Return the group that contains the auth plugin's own options."""
    return conf[group].auth_section or group


def _setting(conf: cfg.ConfigOpts, group: str, option: str) -> str:
    """Return the text ``file: [group] option = value``, with ``***`` in place of credentials in the value."""
    return f"{_from(conf, group, option)}[{group}] {option} = {quoted(without_login(str(conf[group][option])))}"


def _from(conf: cfg.ConfigOpts, group: str, option: str) -> str:
    """Return the path of the file that sets the option, with ``: `` after it; empty if no file sets the option."""
    place = conf.get_location(option, group)
    return f"{place.detail}: " if place is not None and place.location.is_user_controlled else ""
