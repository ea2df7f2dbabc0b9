"""What is asked of a cluster for its status: each question with a deadline of its own."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, TypeVar

import msgspec

from cli.shared.cluster_status.process_metrics import ProcessMetrics, parse_metrics
from core.base.errors import ClusterError
from kube.client.connection import Connection

ANSWER_S: Final = 6.0
"""Seconds for one answer: kube-apiserver gives up on etcd later than that."""

_PAGE: Final = 500
_METADATA_ONLY: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

_PROXY_HINT: Final = (
    "does kube-apiserver reach port {} of the Pod: networkPolicies.webhooksFrom and firewalls"
)

_RIGHTS: Final = "the right is missing; docs/operate/status.md#rights lists what is asked"

_T = TypeVar("_T")


class _ListMeta(msgspec.Struct, frozen=True):
    continue_: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct):
    metadata: _ListMeta = _ListMeta()
    items: list[msgspec.Raw] | None = None


class StatusQuestions:
    """Asks one cluster; nothing is written."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def get(self, path: str) -> dict[str, Any] | None:
        """Return an object; None where there is none.

        Raises:
            ClusterError: kube-apiserver does not answer in time, or refuses.
        """
        try:
            body = await self._connection.get(path, ANSWER_S, {})
        except ClusterError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise _without_names(path, error) from None
        return _decode(path, body, dict[str, Any])

    async def text(self, path: str, parameters: Mapping[str, str] | None = None) -> str:
        """Return what is answered at a path that is no object's.

        Raises:
            ClusterError: as `get`.
        """
        try:
            body = await self._connection.get(path, ANSWER_S, parameters or {}, accept="*/*")
        except ClusterError as error:
            raise _without_names(path, error) from None
        return body.decode(errors="replace")

    async def list(
        self, path: str, *, selector: str = "", metadata_only: bool = False
    ) -> list[msgspec.Raw]:
        """Return all objects of a list, read page by page.

        Raises:
            ClusterError: as `get`; with the status 404 the kind is not there.
        """
        found: list[msgspec.Raw] = []
        query = {"limit": str(_PAGE)} | ({"labelSelector": selector} if selector else {})
        accept = _METADATA_ONLY if metadata_only else "application/json"
        while True:
            try:
                body = await self._connection.get(path, ANSWER_S, query, accept=accept)
            except ClusterError as error:
                raise _without_names(path, error) from None
            page = _decode(path, body, _List)
            found += page.items or []
            if not page.metadata.continue_:
                return found
            query["continue"] = page.metadata.continue_

    async def readyz(self, namespace: str, pod: str, port: int) -> str:
        """Return what a process says that it lacks; empty where it is ready.

        Raises:
            ClusterError: it could not be asked.
        """
        status, body = await self.ask_process(namespace, pod, port, "readyz")
        if status == HTTPStatus.OK:
            return ""
        return body.strip().removeprefix("not ready: ") or f"it answers {status}"

    async def metrics(self, namespace: str, pod: str, port: int) -> ProcessMetrics:
        """Return the metrics of a process.

        Raises:
            ClusterError: it could not be asked, or shows none.
        """
        status, body = await self.ask_process(namespace, pod, port, "metrics")
        if status != HTTPStatus.OK:
            raise ClusterError(f"Pod {namespace}/{pod}: /metrics answers {status}")
        return parse_metrics(body, f"Pod {namespace}/{pod}")

    async def ask_process(self, namespace: str, pod: str, port: int, page: str) -> tuple[int, str]:
        """Return code and text of a page of a process, through kube-apiserver's proxy.

        Raises:
            ClusterError: it could not be asked.
        """
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}:{port}/proxy/{page}"
        try:
            status, body = await self._connection.get_proxied(path, ANSWER_S)
        except ClusterError as error:
            if error.status == HTTPStatus.FORBIDDEN:
                raise _without_names(path, error) from None
            raise ClusterError(f"{error}: {_PROXY_HINT.format(port)}", error.status) from None
        return status, body.decode(errors="replace")


def _without_names(path: str, error: ClusterError) -> ClusterError:
    """Return what a person can act on: kube-apiserver's refusal names whoever asks."""
    if error.status != HTTPStatus.FORBIDDEN:
        return error
    return ClusterError(f"GET {path}: 403: {_RIGHTS}", error.status)


def _decode(path: str, body: bytes, of: type[_T]) -> _T:
    try:
        return msgspec.json.decode(body, type=of)
    except msgspec.DecodeError as error:
        raise ClusterError(f"GET {path}: the answer is none of an API: {error}") from None
