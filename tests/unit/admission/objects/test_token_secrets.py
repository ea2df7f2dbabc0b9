"""A Secret that Kubernetes fills with a service account's token is judged as asking for it."""

from pathlib import Path
from typing import Any

import pytest

from core.decision.decision import Verdict
from core.decision.request import Kind, Operation
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import ALICE, Folder, decide, request, rules

SECRET = Kind("Secret", "v1")
TYPE = "kubernetes.io/service-account-token"
NAME = "kubernetes.io/service-account.name"
RULE = "privileges/token/request"
LASTING = [
    ("privileges/token/lasting", "token/long-lived"),
    ("privileges/token/lasting", "token/unbound"),
]


def secret(account: str = "trainer", kind: str = TYPE, **data: str) -> dict[str, Any]:
    """Return a Secret of a type, for a service account."""
    metadata = {"name": "token", "annotations": {NAME: account}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind, "data": data}


def asked(made: object, old: object = None) -> Any:
    """Return the request that makes or changes a Secret."""
    operation = Operation.UPDATE if old else Operation.CREATE
    return request(made, ALICE, old=old, operation=operation, kind=SECRET, name="token")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Alice may ask for a short token of the trainer, and for none that lasts."""
    made = Folder(tmp_path / "cluster").profile("short", 10, "token/request/trainer", catalogue=3)
    return made.grant(f"User:{ALICE.username}", "short")


async def test_token_secret_needs_the_privileges_of_a_lasting_token(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The right to the token, unbound and long-lived; the message says where each comes from."""
    decision = await decide(folder.cluster(), engine, asked(secret("other")))
    assert decision.verdict is Verdict.DENY
    assert sorted(rules(decision)) == sorted([(RULE, "token/request/other"), *LASTING])
    paths = {finding.path for finding in decision.findings}
    assert paths == {f"metadata.annotations[{NAME}]", "type"}


async def test_remedy_of_a_token_secret_names_no_field_that_only_a_token_request_has(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """It speaks of spec.boundObjectRef for TokenRequests alone."""
    decision = await decide(folder.cluster(), engine, asked(secret()))
    for finding in decision.findings:
        _, of_secret = finding.remedy.split("In the place of a Secret")
        assert finding.remedy.startswith("Of a TokenRequest")
        assert "spec." not in of_secret


async def test_the_right_to_a_short_token_is_not_enough(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """What lasts is a privilege of its own; a profile that covers it admits."""
    decision = await decide(folder.cluster(), engine, asked(secret()))
    assert sorted(rules(decision)) == sorted(LASTING)
    folder.profile("lasting", 20, "token/**", catalogue=3)
    folder.grant(f"User:{ALICE.username}", "lasting")
    admitted = await decide(folder.cluster(), engine, asked(secret()))
    assert (admitted.verdict, admitted.profile) == (Verdict.ALLOW, "lasting")


@pytest.mark.parametrize("kind", ["Opaque", "kubernetes.io/tls", ""])
async def test_other_secrets_are_left_alone(
    engine: EmbeddedEngine, folder: Folder, kind: str
) -> None:
    """The webhook's condition keeps them from the gate anyway."""
    decision = await decide(folder.cluster(), engine, asked(secret(kind=kind)))
    assert decision.verdict is Verdict.ALLOW
    assert decision.evidence.left_alone == "it is for no service account's token"


async def test_an_update_counts_where_it_names_another_account(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Kubernetes fills in the token by an update, and notes when it was used by others."""
    filled = asked(secret(token="e30="), secret())
    assert (await decide(folder.cluster(), engine, filled)).verdict is Verdict.ALLOW
    renamed = asked(secret("admin"), secret())
    decision = await decide(folder.cluster(), engine, renamed)
    assert (RULE, "token/request/admin") in rules(decision)


async def test_no_data_of_a_secret_is_kept(engine: EmbeddedEngine, folder: Folder) -> None:
    """Neither in what policies see, nor in the answer."""
    decision = await decide(folder.cluster(), engine, asked(secret(token="Y2FuYXJ5")))
    assert b"Y2FuYXJ5" not in decision.evidence.projection
    assert "Y2FuYXJ5" not in repr(decision)


async def test_a_secret_that_names_no_account_needs_the_privilege_of_none(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """kube-apiserver refuses it afterwards; here it must not pass for nothing."""
    decision = await decide(folder.cluster(), engine, asked(secret("")))
    assert (RULE, "token/request/%00") in rules(decision)
