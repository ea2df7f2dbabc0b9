"""Signing in to a fake Entra over real HTTPS: federated, by certificate, by secret; refusals."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.base.errors import EntraError, SettingsError
from identity.clients.tokens import GRAPH_SCOPE, CredentialKind, SignIn, Tokens, explain_refusal
from tests.harness.fakes.entra.entra import FakeEntra
from tests.harness.programs.pki import Authority

KINDS = (CredentialKind.FEDERATED, CredentialKind.CERTIFICATE, CredentialKind.SECRET)


@pytest.fixture
def entra(tmp_path: Path) -> Iterator[FakeEntra]:
    """An Entra of this test's own."""
    made = FakeEntra(tmp_path).start()
    yield made
    made.stop()


async def sign_in(entra: FakeEntra, settings: SignIn | None = None) -> str:
    """Get a token, anew."""
    tokens = Tokens(settings or entra.poller_settings().sign_in)
    try:
        return await tokens.get(f"{entra.site}{GRAPH_SCOPE}")
    finally:
        tokens.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_each_way_gives_a_token(entra: FakeEntra, kind: CredentialKind) -> None:
    """For what is asked for."""
    token = await sign_in(entra, entra.poller_settings(kind).sign_in)
    assert entra.desk.issued[token].scope == f"{entra.site}{GRAPH_SCOPE}"


async def test_a_token_is_kept_until_it_is_distrusted(entra: FakeEntra) -> None:
    """Entra is not asked for each request; for another scope it is."""
    tokens = Tokens(entra.poller_settings().sign_in)
    first = await tokens.get(f"{entra.site}{GRAPH_SCOPE}")
    assert await tokens.get(f"{entra.site}{GRAPH_SCOPE}") == first
    assert entra.token_requests == 1
    hub = await tokens.get("https://hub.servicebus.windows.net/.default")
    assert hub != first
    tokens.distrust()
    assert await tokens.get(f"{entra.site}{GRAPH_SCOPE}") != first
    tokens.close()


async def test_a_token_of_the_clusters_is_read_each_time(entra: FakeEntra) -> None:
    """A kubelet renews it; what was read before has expired."""
    tokens = Tokens(entra.poller_settings().sign_in)
    await tokens.get(f"{entra.site}{GRAPH_SCOPE}")
    entra.desk.project_token(entra.now(), -60)
    tokens.distrust()
    with pytest.raises(EntraError, match="AADSTS700024"):
        await tokens.get(f"{entra.site}{GRAPH_SCOPE}")
    entra.desk.project_token(entra.now())
    assert await tokens.get(f"{entra.site}{GRAPH_SCOPE}")
    tokens.close()


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        ({"iss": "https://oidc.example/other"}, "AADSTS700211"),
        ({"aud": ["https://kubernetes.default.svc"]}, "AADSTS700212"),
        ({"sub": "system:serviceaccount:sallyport:default"}, "AADSTS700213"),
    ],
)
async def test_a_federated_credential_that_does_not_match_is_named(
    entra: FakeEntra, claims: dict[str, Any], code: str
) -> None:
    """Issuer, audience, subject: each with what to mend, and nothing of Entra's text."""
    secret = entra.desk.project_token(entra.now(), **claims)
    with pytest.raises(EntraError, match=code) as caught:
        await sign_in(entra)
    assert caught.value.kind == "token"
    assert "anary" not in str(caught.value)
    assert secret not in str(caught.value)


async def test_another_application_is_refused(entra: FakeEntra) -> None:
    """`identity.client_id` is named."""
    settings = replace(entra.poller_settings().sign_in, client_id=str(uuid.uuid4()))
    with pytest.raises(EntraError, match=r"identity\.client_id"):
        await sign_in(entra, settings)


async def test_a_tenant_that_is_not_there(entra: FakeEntra) -> None:
    """The settings are named."""
    settings = replace(entra.poller_settings().sign_in, tenant=str(uuid.uuid4()))
    with pytest.raises(EntraError, match=r"identity\.tenant") as caught:
        await sign_in(entra, settings)
    assert "anary" not in str(caught.value)


async def test_a_certificate_that_nobody_vouches_for_is_refused(
    entra: FakeEntra, tmp_path: Path
) -> None:
    """Nothing is sent to whoever pretends to be Entra."""
    folder = tmp_path / "other"
    folder.mkdir()
    other = Authority(folder)
    settings = replace(entra.poller_settings().sign_in, trust=other.certificate_path)
    with pytest.raises(EntraError, match="not trusted"):
        await sign_in(entra, settings)
    assert entra.token_requests == 0


@pytest.mark.parametrize("elsewhere", ["https://evil.example/token", "http://localhost/token"])
async def test_a_token_endpoint_elsewhere_gets_no_assertion(
    entra: FakeEntra, elsewhere: str
) -> None:
    """The authority's own host is asked, or nobody."""
    entra.name_token_endpoint(elsewhere)
    with pytest.raises(EntraError, match=r"identity\.authority"):
        await sign_in(entra)
    assert entra.token_requests == 0


@pytest.mark.parametrize("content", [None, "", b"\xff\xfe"])
async def test_a_file_that_cannot_be_used_is_named(
    entra: FakeEntra, content: str | bytes | None
) -> None:
    """Missing, empty, no text."""
    file = entra.desk.token_file
    file.unlink()
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content is not None:
        file.write_text(content)
    with pytest.raises(EntraError, match="federated"):
        await sign_in(entra)


async def test_a_certificate_that_is_renewed_is_read_again(entra: FakeEntra) -> None:
    """Without a restart."""
    tokens = Tokens(entra.poller_settings(CredentialKind.CERTIFICATE).sign_in)
    await tokens.get(f"{entra.site}{GRAPH_SCOPE}")
    entra.desk.prepare(entra.now())
    assert await tokens.get(f"{entra.site}{GRAPH_SCOPE}")
    assert entra.token_requests == 2
    tokens.close()


@pytest.mark.parametrize(
    ("settings", "setting"),
    [
        ({"authority": "http://login.example"}, r"identity\.authority"),
        ({"authority": "https://login.example/tenant"}, r"identity\.authority"),
        ({"kind": CredentialKind.SECRET}, r"identity\.allow_secret"),
        ({"file": None}, r"identity\.credential"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, object], setting: str) -> None:
    """Naming the setting; a secret is refused unless that is allowed."""
    base: dict[str, object] = {"tenant": "t", "client_id": "c", "file": Path("token")}
    with pytest.raises(SettingsError, match=setting):
        SignIn(**{**base, **settings})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"error": "Canary Person"},
        {"error": 7, "error_codes": "x"},
        {"error": "invalid_client", "error_codes": ["Canary", None, 99]},
        {"error_description": "Canary Person", "error_codes": [1]},
    ],
)
def test_a_refusal_is_explained_without_entras_words(answer: dict[str, object]) -> None:
    """Codes are numbers; a text of Entra's holds names."""
    text = explain_refusal(answer)
    assert text.startswith("Entra ID refused a token")
    assert "anary" not in text
