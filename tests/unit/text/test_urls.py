"""Which text can be the URL of a server, and what the agent shows of a URL with a password."""

import pytest

from agent.text.urls import url_problem, without_login


@pytest.mark.parametrize(
    "url",
    [
        "http://k",
        "https://keystone.example.org:5000/v3",
        "https://[2001:db8::1]:5000/v3",
        "HTTPS://Keystone/identity/",
        "http://joe:hunter2@keystone:5000",
    ],
)
def test_a_url_with_scheme_and_host_is_accepted(url):
    assert url_problem(url) == ""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("keystone.example.org:5000/v3", "begins with http:// or https:// and a host"),
        ("127.0.0.1:44769", "begins with http:// or https:// and a host"),
        ("https:/k:5000/v3", "begins with http:// or https:// and a host"),
        ("http//k", "begins with http:// or https:// and a host"),
        ("http://", "begins with http:// or https:// and a host"),
        ("ftp://k/v3", "begins with http:// or https:// and a host"),
        ("http://:5000/v3", "names no host"),
        ("http://joe@:5000/v3", "names no host"),
        ("http://key stone/v3", "names no host"),
        ("http://k:five/v3", "Port could not be cast to integer"),
        ("http://[2001:db8::1/v3", "Invalid IPv6 URL"),
    ],
)
def test_the_error_about_an_invalid_url_says_what_is_wrong(text, says):
    assert url_problem(text).startswith("not a URL: ")
    assert says in url_problem(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://user:hunter2@keystone:5000/v3", "http://***@keystone:5000/v3"),
        ("https://user:hun/t@er2@keystone/v3", "https://***@keystone/v3"),
        ("user:hunter2@keystone:5000/v3", "***@keystone:5000/v3"),
        ("user:hun/ter2@keystone:5000/v3", "***@keystone:5000/v3"),
        ("http:/user:hunter2@keystone/v3", "http:/***@keystone/v3"),
        ("http//user:hunter2@keystone/v3", "http//***@keystone/v3"),
        ("http://a:hunter2@h1:1,http://b:hunter2@h2:2", "http://***@h1:1,http://***@h2:2"),
        ("http://p:8778/x?password=hunter2", "http://p:8778/x?password=***"),
    ],
)
def test_credentials_in_a_url_are_masked(text, shown):
    assert without_login(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "http://p:8778/x",
        "qemu:///system",
        "joe@example.org",
        "%(asctime)s.%(msecs)03d [%(name)s]",
        "internal,public",
        "",
    ],
)
def test_masking_leaves_a_url_without_a_password_unchanged(text):
    """A URL or address without a password, such as `joe@example.org`, is shown unchanged."""
    assert without_login(text) == text
