"""The Secrets that Sallyport makes: read and written with preconditions, never shown."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from core.base import names
from core.base.errors import ClusterError
from kube.client.objects import Objects
from kube.leader.lease import Leadership

TLS: Final = "kubernetes.io/tls"
OPAQUE: Final = "Opaque"

_LABELS: Final = {names.MANAGED_BY_LABEL: "sallyport"}

_REMEDIES: Final[Mapping[int, str]] = {
    HTTPStatus.FORBIDDEN: "apply the chart's RBAC for sallyport-control",
    HTTPStatus.CONFLICT: "somebody else changed it meanwhile; it is looked at again",
    HTTPStatus.NOT_FOUND: "make sure that the namespace exists",
    HTTPStatus.UNPROCESSABLE_ENTITY: "it may be immutable or misshapen; delete it to have it made",
}


@dataclass(frozen=True)
class Secret:
    """A Secret as it was read."""

    version: str
    content: Mapping[str, bytes] = field(repr=False)


class Secrets:
    """The Secrets of one namespace, by name."""

    def __init__(self, objects: Objects, namespace: str) -> None:
        self._objects = objects
        self._collection = f"/api/v1/namespaces/{namespace}/secrets"

    async def read(self, name: str) -> Secret | None:
        """Return a Secret; None where there is none. A value that is no base64 is left out.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
        """
        body = await self._objects.get(f"{self._collection}/{name}")
        if body is None:
            return None
        return Secret(body["metadata"]["resourceVersion"], _decode(body.get("data") or {}))

    async def write(
        self,
        leadership: Leadership | None,
        name: str,
        before: Secret | None,
        content: Mapping[str, bytes],
        kind: str,
    ) -> Secret:
        """Create it, or change the named parts of it, if it still is as it was read (`before`).

        Its type is set when it is made, and stays; so do parts that others have put into it. Given
        back is what was written, with its version. Without a leadership, whoever writes need not
        lead.

        Raises:
            ClusterError: it was not written (409: it is another one by now); the message holds
                nothing of what was to be written.
            NotLeaderError: this process does not lead.
        """
        if leadership is not None:
            leadership.require()
        values = {key: base64.b64encode(value).decode() for key, value in content.items()}
        try:
            if before is None:
                body = await self._objects.create(self._collection, _new(name, kind, values))
            else:
                change = {"metadata": {"resourceVersion": before.version}, "data": values}
                body = await self._objects.merge(f"{self._collection}/{name}", change)
        except ClusterError as error:
            raise _safe(name, error) from None
        return Secret(body["metadata"]["resourceVersion"], content)


def _new(name: str, kind: str, values: Mapping[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "labels": _LABELS},
        "type": kind,
        "data": values,
    }


def _decode(values: Mapping[str, str]) -> dict[str, bytes]:
    content = {}
    for key, value in values.items():
        try:
            content[key] = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            continue
    return content


def _safe(name: str, error: ClusterError) -> ClusterError:
    """Say what became of a write in our own words: kube-apiserver's may quote what it refused."""
    remedy = _REMEDIES.get(error.status)
    what = f"status {error.status}" if error.status else "no answer"
    text = f"Secret {name} was not written ({what})"
    return ClusterError(
        f"{text}: {remedy}" if remedy else f"{text}; it is tried again", error.status
    )
