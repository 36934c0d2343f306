"""Addresses of monitoring servers."""

import pytest

from agent.monitoring.address import Address, parsed


@pytest.mark.parametrize(
    ("uri", "address", "is_local"),
    [
        ("unix:///run/stocktake/health.sock", Address(path="/run/stocktake/health.sock"), True),
        ("tcp://127.0.0.1:9199", Address(host="127.0.0.1", port=9199), True),
        ("tcp://[::1]:9199", Address(host="::1", port=9199), True),
        ("tcp://localhost:1", Address(host="localhost", port=1), True),
        ("tcp://192.0.2.10:65535", Address(host="192.0.2.10", port=65535), False),
        ("tcp://0.0.0.0:9199", Address(host="0.0.0.0", port=9199), False),
    ],
)
def test_a_monitoring_address_is_parsed(uri, address, is_local):
    """The agent parses unix:// and tcp:// addresses of monitoring servers."""
    assert (parsed(uri), parsed(uri).uri, parsed(uri).is_local) == (address, uri, is_local)


@pytest.mark.parametrize(
    "uri",
    [
        *("", "9199", "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:0", "tcp://127.0.0.1:65536", "tcp://127.0.0.1:x"),
        *("tcp://:9199", "tcp://node.example.org:9199", "tcp://127.0.0.1:9199/metrics", "tcp://u:p@127.0.0.1:9199"),
        *("unix://", "unix:///", "unix://relative", "http://127.0.0.1:9199", "unix:///a\0b", "tcp://[::1:9199"),
    ],
)
def test_an_invalid_monitoring_address_is_rejected(uri):
    """An invalid address of a monitoring server raises a ValueError with an example of a valid address."""
    with pytest.raises(ValueError, match=r"unix:///run/stocktake/NAME\.sock"):
        parsed(uri)
