"""Writes AuditStatements into a cluster, as whoever's credentials are used."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import msgspec

from app.settings.root import Settings
from core.base import names
from core.base.errors import ClusterError, InvalidObjectError, SettingsError
from core.people.subject import Subject
from core.weights.audit_statements import KIND, AuditStatement, parse_statement
from kube.client.objects import PAGE, Objects, open_objects

STATEMENTS_PATH: Final = f"/apis/{names.API_VERSION}/{names.AUDIT_STATEMENTS_RESOURCE}"

_SELF_PATH: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_FORBIDDEN: Final = 403


class _UserInfo(msgspec.Struct, rename="camel"):
    user_info: Subject


class _SelfReview(msgspec.Struct):
    status: _UserInfo


class CreateResult(msgspec.Struct, frozen=True):
    """A statement that was created, or why the gate refused it."""

    name: str = ""
    """Of the object; empty where it was refused."""
    refused: str = ""


@asynccontextmanager
async def open_cluster(settings: Settings) -> AsyncIterator[Objects]:
    """Yield the objects of the cluster that is named.

    Raises:
        SettingsError: none is named, or the credentials are broken.
    """
    if settings.kubeconfig is None:
        raise SettingsError("say in which cluster: give --kubeconfig FILE")
    async with open_objects(settings.kubeconfig) as objects:
        yield objects


async def read_self(objects: Objects) -> Subject:
    """Return who kube-apiserver says that we are.

    Raises:
        ClusterError: kube-apiserver does not answer, or knows no SelfSubjectReview.
    """
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await objects.create(_SELF_PATH, body)
    try:
        return msgspec.convert(answer, _SelfReview).status.user_info
    except msgspec.ValidationError as error:
        raise ClusterError(
            f"SelfSubjectReview: kube-apiserver's answer has no user: {error}"
        ) from None


def build_statement(prefix: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return a statement to write; `prefix` begins its name.

    Raises:
        InvalidObjectError: the `spec` is wrong, with its field.
    """
    body: dict[str, Any] = {
        "apiVersion": names.API_VERSION,
        "kind": KIND,
        "metadata": {"generateName": f"{prefix}-"},
        "spec": spec,
    }
    parse_statement(msgspec.json.encode(body))
    return body


async def make_statement(objects: Objects, body: dict[str, Any]) -> CreateResult:
    """Write a statement.

    Raises:
        ClusterError: kube-apiserver does not answer.
    """
    try:
        made = await objects.create(STATEMENTS_PATH, body)
    except ClusterError as error:
        if error.status != _FORBIDDEN:
            raise
        return CreateResult(refused=str(error))
    return CreateResult(name=str(made["metadata"]["name"]))


async def read_sign_offs(objects: Objects, digest: str) -> list[AuditStatement]:
    """Return the statements of a cluster that sign a report off.

    One that cannot be read, of a later release perhaps, is left out, as where the ledger is read.

    Raises:
        ClusterError: kube-apiserver does not answer, or refuses.
    """
    found: list[AuditStatement] = []
    token = ""
    while True:
        page = await objects.page(STATEMENTS_PATH, PAGE, token)
        for raw in page.items:
            with suppress(InvalidObjectError):
                found.append(parse_statement(raw))
        if not (token := page.continue_token):
            return [one for one in found if one.spec.report == digest]
