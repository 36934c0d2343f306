"""How the agent reaches the broker: the URL and [oslo_messaging_rabbit], the agent's file before nova's."""

import pytest

from agent.bus.options import BusOptions
from agent.bus.service import checked_bus
from agent.config.build import check
from agent.config.load import load
from agent.config.options.rabbit import bus_options_from
from agent.config.reload import needs_restart, reload
from agent.errors import ConfigError
from tests.rigs.configs import ALONE, load_beside_nova, load_ours, write

ASKED = "[state]\nsource = none\n"
BROKER = "[DEFAULT]\ntransport_url = rabbit://u:secret-7@192.0.2.9:5672/\n"
NOVA = BROKER + "[oslo_messaging_rabbit]\nrabbit_quorum_queue = true\nheartbeat_rate = 5\n"


def test_there_is_no_message_bus_without_transport_url(tmp_path):
    """If transport_url is set in neither stocktake.conf nor nova.conf, the agent has no message bus options."""
    loaded = load_beside_nova(tmp_path, ASKED, "[DEFAULT]\nhost = compute-17\n")

    assert bus_options_from(loaded) is None
    assert "oslo_messaging_rabbit" not in {group for group, _ in loaded.options}


def test_the_message_bus_timeout_is_60_s_by_default(tmp_path):
    loaded = load_beside_nova(tmp_path, ASKED, BROKER)

    assert bus_options_from(loaded) == BusOptions(url="rabbit://u:secret-7@192.0.2.9:5672/", response_timeout_s=60.0)


def test_the_agent_uses_rabbitmq_options_from_nova_conf(tmp_path):
    options = bus_options_from(load_beside_nova(tmp_path, ASKED, NOVA))

    assert dict(options.rabbit) == {"rabbit_quorum_queue": True, "heartbeat_rate": 5}


def test_the_agent_uses_rabbitmq_options_from_its_own_file(tmp_path):
    """transport_url, rpc_response_timeout and [oslo_messaging_rabbit] may be set in stocktake.conf."""
    ours = ASKED + BROKER + "rpc_response_timeout = 7\n[oslo_messaging_rabbit]\namqp_durable_queues = true\n"
    options = bus_options_from(load_beside_nova(tmp_path, ours, "[DEFAULT]\nhost = compute-17\n"))

    assert dict(options.rabbit) == {"amqp_durable_queues": True}
    assert options.response_timeout_s == 7.0


def test_stocktake_conf_overrides_rabbitmq_options_of_nova_conf(tmp_path):
    """heartbeat_rate in stocktake.conf overrides heartbeat_rate in nova.conf."""
    ours = ASKED + "[oslo_messaging_rabbit]\nheartbeat_rate = 2\nssl = true\n"
    loaded = load_beside_nova(tmp_path, ours, NOVA)

    assert dict(bus_options_from(loaded).rabbit) == {"rabbit_quorum_queue": True, "heartbeat_rate": 2, "ssl": True}
    assert loaded.origin("oslo_messaging_rabbit", "heartbeat_rate") == str(tmp_path / "stocktake.conf")
    assert loaded.origin("oslo_messaging_rabbit", "rabbit_quorum_queue") == str(tmp_path / "nova.conf")


def test_rabbitmq_options_are_accepted_without_a_broker(tmp_path):
    """The group [oslo_messaging_rabbit] is accepted even if no transport_url is set."""
    loaded = load_ours(tmp_path, "[oslo_messaging_rabbit]\nheartbeat_rate = 2\n")

    assert bus_options_from(loaded) is None
    assert loaded.value("oslo_messaging_rabbit", "heartbeat_rate") == 2


def test_a_misspelt_rabbitmq_option_is_rejected(tmp_path):
    """The error about `rabbit_quorum_queu` suggests the right name, rabbit_quorum_queue."""
    text = ALONE + "[oslo_messaging_rabbit]\nrabbit_quorum_queu = true\n"
    with pytest.raises(ConfigError, match="rabbit_quorum_queu: the nearest name is rabbit_quorum_queue"):
        load([write(tmp_path, "stocktake.conf", text)])


def test_an_invalid_value_of_a_rabbitmq_option_is_rejected(tmp_path):
    with pytest.raises(ConfigError, match="heartbeat_rate"):
        load_beside_nova(tmp_path, ASKED, NOVA.replace("heartbeat_rate = 5", "heartbeat_rate = often"))


def test_a_changed_rabbitmq_option_needs_a_restart(tmp_path):
    """After a reload, the agent keeps the old value of heartbeat_rate and reports that it must be restarted."""
    loaded = load_ours(tmp_path, ALONE + NOVA)
    write(tmp_path, "stocktake.conf", ALONE + NOVA.replace("heartbeat_rate = 5", "heartbeat_rate = 6"))
    reloaded = reload(loaded)

    assert "[oslo_messaging_rabbit] heartbeat_rate" in needs_restart(loaded, reloaded)
    assert dict(bus_options_from(reloaded).rabbit)["heartbeat_rate"] == 5


def test_printed_bus_options_hide_the_broker_password(tmp_path):
    options = bus_options_from(load_beside_nova(tmp_path, ASKED, NOVA))

    assert options.shown == "rabbit://192.0.2.9:5672/"
    assert "secret-7" not in repr(options)


# The password of one host has an unescaped slash: the text after the slash is not part of the host any more.
@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("broker:5672", "must begin with rabbit://"),
        ("u:secret-7@broker:5672/", "must begin with rabbit://"),
        ("fake://", "must begin with rabbit://"),
        ("amqp://u:secret-7@broker/", "must begin with rabbit://"),
        ("rabbit://u:secret-7@broker:port/", "the port of host 1 is not a number from 1 to 65535"),
        ("rabbit://u:secret-7@broker:/", "the port of host 1 is not a number"),
        ("rabbit://u:p@one:5672,u:secret-7@two:99999/", "the port of host 2 is not a number"),
        ("rabbit://u:p@[::1]:99999/", "the port of host 1 is not a number"),
        ("rabbit://u:secret-7/p@broker:5672/", "must be percent-encoded"),
        ("rabbit://u:[secret-7@broker:5672/", "cannot be read as a URL"),
    ],
)
def test_an_invalid_transport_url_is_rejected(tmp_path, url, said):
    """The error shows the file and the option transport_url, says what is wrong, and hides the password."""
    loaded = load_ours(tmp_path, f"{ALONE}[DEFAULT]\ntransport_url = {url}\n")

    with pytest.raises(ConfigError) as caught:
        bus_options_from(loaded)
    assert str(caught.value).startswith(f"{tmp_path}/stocktake.conf: [DEFAULT] transport_url = ***: ")
    assert said in str(caught.value)
    assert "secret-7" not in str(caught.value)
    assert str(caught.value) in check(loaded)


@pytest.mark.parametrize(
    "url",
    [
        "rabbit://",
        "rabbit://broker",
        "rabbit://u:p%2F%40@broker:5672/vhost?ssl=1",
        "rabbit://u:p@one:5672,u:p@two:5673/",
        "rabbit://u:p@[2001:db8::1]:5672/",
        "rabbit://[2001:db8::1]/",
        "rabbit://u:p@2001:db8::1/",
        "rabbit://u:p@@broker/",
        "kombu+memory://",
        "RABBIT://broker/",
    ],
)
def test_a_valid_transport_url_is_accepted(tmp_path, url):
    loaded = load_ours(tmp_path, f"{ALONE}[DEFAULT]\ntransport_url = {url}\n")

    taken = bus_options_from(loaded)
    checked_bus(taken).close()
    assert taken.url == url
    assert not [problem for problem in check(loaded) if "transport_url" in problem]
