"""Secrets and names of people are taken out of texts and objects; the rest stays readable."""

import base64
import json
import textwrap
import time
from typing import Any, Final

import pytest

from cli.support_bundle.redaction import Redactor
from core.people.subject import pseudonymous_user

CANARY: Final = "c4naryV4lue"
JWT: Final = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJjNG5hcnkifQ.c4naryV4lue-signature"


@pytest.mark.parametrize(
    "text",
    [
        f"password={CANARY}",
        f'{{"client_secret": "{CANARY}"}}',
        f'msg="login" token={CANARY} took=3',
        f"--ledger-password {CANARY}".replace(" ", "="),
        f"postgresql://sallyport:{CANARY}@db.example:5432/ledger",
        f"amqp://{CANARY}@hub.example",
        f"Authorization: Basic {CANARY}",
        f"curl -H 'authorization: bearer {CANARY}'",
        f"got Bearer {CANARY} from",
        JWT,
        f"AccountKey={CANARY};EndpointSuffix=core.example",
        f"Endpoint=sb://x/;SharedAccessKey={CANARY}",
        f"https://store.example/c?sv=1&sig={CANARY}&se=2",
        f"-----BEGIN EC PRIVATE KEY-----\n{CANARY}\n-----END EC PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----\n{CANARY}",
        f'{{"log": "{{\\"api_key\\": \\"{CANARY}\\"}}"}}',
        f'{{"authorization": "Basic {CANARY}"}}',
        f'{{"headers": "{{\\"cookie\\": \\"a=\\\\\\"b\\\\\\"; s={CANARY}\\"}}"}}',
        f'Cookie: a="b"; session={CANARY}',
        f'curl -H \'Authorization: Digest username="sallyport", response="{CANARY}"\'',
        f"with Basic dXNlcjp{CANARY} from",
        f"password=ab,{CANARY}",
        f"password=ab;{CANARY}",
        f"password='foo {CANARY}'",
        f'{{"password": "a\\"b {CANARY}"}}',
        f"postgresql://u:pa@{CANARY}@db/ledger",
        f"postgresql://u:pa/{CANARY}@db.example/ledger",
        f"--ledger-token {CANARY}",
        f'args: ["--token", "{CANARY}"]',
        f'{{"name": "Authorization", "value": "Token {CANARY}"}}',
        f'{{"tokens": ["a", "{CANARY}"]}}',
        f'{{"secret": {{"data": "{CANARY}"}}}}',
        f"hf_{CANARY}{CANARY}",
        f"ghp_{CANARY}{CANARY}",
        f"glpat-{CANARY}-{CANARY}",
        f"posted to https://hooks.slack.com/services/T0/B0/{CANARY}",
    ],
)
def test_what_looks_like_a_secret_is_removed(text: str) -> None:
    """Whatever wrote it down, and also where it is cut off."""
    redactor = Redactor()
    made = redactor.text(f"before {text} after")
    assert CANARY not in made
    assert made.startswith("before ")
    assert redactor.taken["secrets"] >= 1


@pytest.mark.parametrize(
    "text",
    [
        'pods is forbidden: User "{}" cannot list resource',
        'user="{}" verb=get',
        "username={} verb=get",
        '{{"user": "{}", "verb": "get"}}',
        '{{"log": "{{\\"username\\": \\"{}\\"}}"}}',
        '{{"requester": "{}", "verb": "get"}}',
        '{{"author":"{}","verb":"get"}}',
        "approver={} verb=get",
        '{{"subjects":["system:node:a","{}"],"verb":"get"}}',
        '{{"log": "{{\\"subjects\\": [\\"a-b\\", \\"{}\\"]}}"}}',
    ],
)
def test_a_user_becomes_the_pseudonym_of_logs(text: str) -> None:
    """So that two lines of one person are still known as that."""
    made = Redactor().text(text.format("zoe.canary"))
    assert "zoe" not in made
    assert pseudonymous_user("zoe.canary") in made


def test_what_stands_after_a_quoted_header_stays() -> None:
    """It ends with the quote that it stands in."""
    made = Redactor().text(f"curl -H 'Authorization: Basic {CANARY}' https://hub.example")
    assert made == "curl -H 'Authorization: [removed]' https://hub.example"


def test_an_address_of_mail_becomes_a_pseudonym_wherever_it_stands() -> None:
    """Entra ID's user names are such."""
    made = Redactor().text("approved by zoe@example.com, and Zoe's notebook")
    assert made == f"approved by {pseudonymous_user('zoe@example.com')}, and Zoe's notebook"


def test_a_guest_of_a_tenant_is_one_person() -> None:
    """No part of the name stays before the `#` or after it, nor the quote counts."""
    guest = "jane_contoso.com#EXT#@fabrikam.onmicrosoft.com"
    assert Redactor().text(f"by '{guest}'") == f"by '{pseudonymous_user(guest)}'"


def test_fields_of_users_become_pseudonyms() -> None:
    """Lists too; who is none, or has a pseudonym, stays."""
    made = Redactor().document(
        {"requester": "zoe", "subjects": ["zoe", "system:node:a", "user:0123456789abcdef"]}
    )
    zoe = pseudonymous_user("zoe")
    assert made == {"requester": zoe, "subjects": [zoe, "system:node:a", "user:0123456789abcdef"]}


def test_a_private_key_in_base64_is_removed_and_a_certificate_stays() -> None:
    """On one line and on several, wherever it begins; so does a CA of a webhook."""
    inside = f"{CANARY}\n" * 20
    key = f"-----BEGIN PRIVATE KEY-----\n{inside}-----END PRIVATE KEY-----\n"
    encoded = base64.b64encode(key.encode()).decode()
    wrapped = "\n  ".join(textwrap.wrap(encoded, 64))
    for text in (encoded, f"a\\n{encoded}", wrapped, encoded[:-7]):
        made = Redactor().text(f"before {text}")
        assert made.startswith("before ")
        assert encoded[80:120] not in made.replace("\n  ", "")
        assert made.endswith("[removed]")
    certificate = base64.b64encode(key.replace("PRIVATE KEY", "CERTIFICATE").encode()).decode()
    assert Redactor().text(certificate) == certificate


@pytest.mark.parametrize(
    "one", ["a", "token", "eyJ-", "://a:", "a.", "a'", "-", "--", "user=", "="]
)
def test_a_long_line_takes_no_time(one: str) -> None:
    """64 KiB of it: nothing grows faster than the text, and the deadline can hold."""
    text = (one * 65536)[:65536]
    began = time.process_time()
    Redactor().text(text)
    assert time.process_time() - began < 1.0


def test_names_that_are_known_are_replaced_wherever_they_stand() -> None:
    """Also without a word before them; longer words that hold them stay."""
    redactor = Redactor(["zoe", "zoe-admin", "gate", "al", "system:kube-scheduler"])
    made = redactor.text("zoe asked zoe-admin of zoetrope at the gate, system:kube-scheduler al")
    assert made == (
        f"{pseudonymous_user('zoe')} asked {pseudonymous_user('zoe-admin')} of zoetrope at the "
        "gate, system:kube-scheduler al"
    )


@pytest.mark.parametrize(
    "text",
    [
        'User "system:serviceaccount:team:runner" cannot list',
        "user:0123456789abcdef was refused",
        'sallyport_risk_age_seconds{of="users"} 30.0\nsallyport_ready{x="1"} 1.0',
        "token: /etc/sallyport/instance/token",
        "registry.example/sallyport@sha256:" + "0" * 64,
        "oci://registry.example:5000/sallyport@sha256:" + "0" * 64,
        "/apis/rbac.authorization.k8s.io/v1/rolebindings: 403",
        "Basic authentication is off",
        "2026-11-01T03:00:00Z the auditor has acknowledged nothing for 60 minutes",
    ],
)
def test_what_names_nobody_stays(text: str) -> None:
    """A bundle that says nothing helps nobody."""
    assert Redactor().text(text) == text


def test_fields_that_sound_like_secrets_lose_their_values() -> None:
    """Numbers and lists too; files, names of Secrets and periods stay."""
    given: dict[str, Any] = {
        "ledger": {"password": CANARY, "pin_secret": 123456, "tokens": [CANARY, CANARY]},
        "shipping": {"token": "/etc/sallyport/instance/token", "tokenSeconds": 600},
        "volumes": [{"secret": {"secretName": "sallyport-gate-tls"}}],
        "automountServiceAccountToken": True,
    }
    made = Redactor().document(given)
    assert CANARY not in json.dumps(made)
    assert "123456" not in json.dumps(made)
    assert made["shipping"] == given["shipping"]
    assert made["volumes"] == given["volumes"]
    assert made["automountServiceAccountToken"] is True


def test_what_stands_beside_a_telling_name_is_removed() -> None:
    """Arguments after their flags, headers of probes, and values within a field."""
    given: dict[str, Any] = {
        "args": ["gate", "--token", CANARY, "--verbose", "--token-file", "/etc/sallyport/token"],
        "httpHeaders": [{"name": "Authorization", "value": f"Token {CANARY}"}],
        "password": {"value": CANARY},
        "tolerations": [{"key": "gpu", "value": "yes"}],
    }
    made = Redactor().document(given)
    assert CANARY not in json.dumps(made)
    assert made["args"][3:] == given["args"][3:]
    assert made["tolerations"] == given["tolerations"]


def test_an_object_comes_without_environment_annotations_and_managers() -> None:
    """By what is known to be harmless: what is new stays out."""
    container = {
        "name": "gate",
        "args": ["gate", f"--password={CANARY}"],
        "env": [
            {"name": "PLAIN", "value": CANARY},
            {"name": "REFERRED", "valueFrom": {"secretKeyRef": {"name": "db", "key": "url"}}},
        ],
    }
    body = {
        "kind": "Deployment",
        "metadata": {
            "name": "sallyport-gate",
            "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": CANARY,
                "checksum/config": "abc",
            },
            "managedFields": [{"manager": CANARY}],
            "ownerReferences": [{"name": CANARY}],
        },
        "spec": {
            "template": {
                "metadata": {"annotations": {"vault.example/inject": CANARY}},
                "spec": {"containers": [container], "initContainers": [container]},
            }
        },
        "data": {"anything": CANARY},
        "stringData": {"password": CANARY},
    }
    made = Redactor().object(body)
    text = json.dumps(made)
    assert CANARY not in text
    assert "managedFields" not in text
    assert '"checksum/config": "abc"' in text
    assert '"key": "url"' in text


def test_of_settings_the_fields_are_kept_and_other_keys_are_counted() -> None:
    """And a file that is no YAML is left out whole."""
    config = (
        f"default_mode: audit\nledger:\n  url: postgresql://u:{CANARY}@db/l\n"
        f"notifications: {{sinks: [{{url: 'https://hook.example:8443/in/{CANARY}'}}]}}\n"
        "shipping: {url: 'https://auditor.example:9444'}\n"
    )
    body = {
        "metadata": {"name": "sallyport-gate"},
        "data": {"config.yaml": config, "notes.txt": CANARY},
    }
    made = Redactor().settings(body)
    assert made["data"]["config.yaml"]["default_mode"] == "audit"
    settings = made["data"]["config.yaml"]
    assert settings["notifications"]["sinks"] == [{"url": "https://hook.example:8443/[removed]"}]
    assert settings["shipping"] == {"url": "https://auditor.example:9444"}
    assert made["data"]["notes.txt"] == "[11 characters left out]"
    assert CANARY not in json.dumps(made)
    broken = Redactor().settings({"metadata": {}, "data": {"config.yaml": f"a: [{CANARY}"}})
    assert CANARY not in json.dumps(broken)
