"""Credentials in text of other programs: which of them the agent masks, and that ordinary words stay."""

import html
import time
from urllib.parse import quote

import hypothesis.strategies as st
import pytest
from hypothesis import given

from agent.text.redact import SECRET_LENGTH, blotted

FERNET = "gAAAAABmPz3k9a_Qx-7aZ0bB8Y0c1d2e3f4g5h6i7j8k9l0mNoPqRsTuVwXyZ=="


# Without the mask's own sign: what the mask leaves beside it could not be told from a secret of asterisks.
WITHOUT_MASK = st.characters(exclude_characters="*", exclude_categories=["Cs"])


@given(st.text(WITHOUT_MASK, min_size=SECRET_LENGTH), st.text(WITHOUT_MASK), st.text(WITHOUT_MASK))
def test_a_known_secret_is_masked_in_every_form(secret, before, after):
    """The agent masks a secret of 8 or more characters as plain text, HTML-escaped, and quoted as in a URL."""
    for form in (secret, html.escape(secret), quote(secret, safe="")):
        text = blotted(f"{before}{form}{after}", (secret,))
        assert form not in text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("X-Auth-Token: s3cr3t", "X-Auth-Token: ***"),
        ("x-subject-token=s3cr3t; a", "x-subject-token=***; a"),
        ("Authorization: Basic am9lOnNlY3JldA== next", "Authorization: *** next"),
        ("Authorization: Bearer abc.def next", "Authorization: *** next"),
        ('{"password": "hun\\"ter 2", "a": 1}', '{"password": ***, "a": 1}'),
        ("{'secret': 'hunter 2'}", "{'secret': ***}"),
        (r"{\"password\": \"hunter 2\"}", r"{\"password\": ***}"),
        ("&quot;password&quot;: &quot;hunter 2&quot;, a", "&quot;password&quot;: ***, a"),
        ("&#34;secret&#34;:&#34;hunter 2&#34;", "&#34;secret&#34;:***"),
        ("&#39;password&#39;: &#39;hunter2&#39;, a", "&#39;password&#39;: ***, a"),
        ("&#x22;password&#x22;: &#x22;hunter2&#x22;, a", "&#x22;password&#x22;: ***, a"),
        (r"&quot;password&quot;: &quot;a\&quot;hunter2&quot;, a", "&quot;password&quot;: ***, a"),
        (r"\&quot;password\&quot;: \&quot;hunter 2\&quot;, a", r"\&quot;password\&quot;: ***, a"),
        (r"{\'password\': \'hunter 2\'}", r"{\'password\': ***}"),
        (r"{\"password\": \"a\\\"hunter2\", \"a\": 1}", r"{\"password\": ***, \"a\": 1}"),
        ("{'secret': 'hunter 2", "{'secret': ***"),
        ('{"password": "hunter 2', '{"password": ***'),
        ('{"password": "hunter 2' + "\\", '{"password": ***'),
        ("&quot;password&quot;: &quot;hunter 2", "&quot;password&quot;: ***"),
        (r"{\"password\": \"hunter 2", r"{\"password\": ***"),
        ("password=hunter2&user=joe", "password=***&user=joe"),
        ("http://joe:hunter2@proxy:3128/x", "http://***@proxy:3128/x"),
        (f"<b>{FERNET}</b>", "<b>***</b>"),
        ("Cookie: a=b", "Cookie: ***"),
    ],
)
def test_credentials_in_a_known_format_are_masked(text, left):
    """The agent masks credentials in formats such as `password=...` or `X-Auth-Token: ...`."""
    assert blotted(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "wrong password",
        "no token from Keystone at http://keystone:5000/v3/auth/tokens: wrong password",
        "Unable to establish connection to http://placement:8778/resource_providers: [Errno 111] Connection refused",
        "Unable to create allocation for 'VCPU' on resource provider 'u'.",
    ],
)
def test_masking_leaves_text_without_credentials_unchanged(text):
    assert blotted(text) == text


@pytest.mark.parametrize(
    "unit",
    [
        "x",
        "-token",
        "eyJ",
        "password",
        "gAAAAA",
        "//",
        "secret=",
        "'",
        "a@",
        "-token: ",
        "secret: &quot;",
        "secret: \\\\",
        'secret: "',
        r"secret: \"",
        r"secret: \&quot;\\",
    ],
)
def test_masking_a_long_text_takes_less_than_two_seconds(unit):
    """The agent masks credentials in a text of 20,000 repetitions, for example of `secret=`, within two seconds."""
    began = time.process_time()
    blotted(unit * 20_000)
    assert time.process_time() - began < 2


def test_a_very_short_known_secret_is_not_masked():
    """A known secret of fewer than 8 characters, such as `admin`, stays, because it may be an ordinary word."""
    assert blotted("the admin said admin", ("admin",)) == "the admin said admin"
