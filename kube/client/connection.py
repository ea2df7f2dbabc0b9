"""The connection to kube-apiserver: plain JSON over the official asyncio client.

Only configuration, credentials and transport come from `kubernetes.aio`; bodies are decoded by
msgspec, field by field as needed. Measured (37.0.2, beside uvicorn, msgspec and structlog):
aiohttp adds 7 MB of resident memory and this part of kubernetes.aio 12 MB and 0.4 s of import,
since its models are loaded only when they are named. The clock of the server is known from the
`Date` of its answers: to the second, and as late as they took.
"""

import asyncio
import datetime as dt
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from typing import Final

import aiohttp
import msgspec
from kubernetes.aio.client.api_client import ApiClient
from kubernetes.aio.client.exceptions import OpenApiException
from kubernetes.aio.config import ConfigException

from core.base.errors import ClusterError, SettingsError
from core.kubernetes.object_meta import ContinueMeta
from kube.client.credentials import Credentials
from network.connector import Connector
from network.error_texts import describe

MAX_LINE: Final = 16 * 1024 * 1024
"""Bytes of one watch event: etcd stores at most 1.5 MiB, which JSON escapes may swell."""

MAX_FAILURE: Final = 64 * 1024
"""Bytes read of an answer that is a failure."""

USER_AGENT: Final = "sallyport"

_NONE: Final[Mapping[str, str]] = {}

_HINTS: Final[Mapping[int, str]] = {
    HTTPStatus.UNAUTHORIZED: "check the credentials in the kubeconfig or of the service account",
    HTTPStatus.FORBIDDEN: "check that deploy/rbac.yaml, or the chart's RBAC, is applied",
    HTTPStatus.NOT_FOUND: "check that the CRDs (helm/sallyport-crds) are installed",
}

_FOREIGN: Final = (
    aiohttp.ClientError,
    aiohttp.http.HttpProcessingError,
    OSError,
    ConfigException,
)
"""What sending, and reading the answer, may raise. `from None`: their texts hold values."""


class ServerClock:
    """What the last answer said, and the time since then."""

    def __init__(self) -> None:
        self._said: dt.datetime | None = None
        self._at = 0.0

    def note(self, date: str | None) -> None:
        """Take an answer's header; what is no date changes nothing."""
        try:
            said = parsedate_to_datetime(date or "")
        except ValueError:
            return
        if said.tzinfo is not None:
            self._said, self._at = said, time.monotonic()

    def now(self) -> dt.datetime | None:
        """Return its time; None before the first answer."""
        if self._said is None:
            return None
        return self._said + dt.timedelta(seconds=time.monotonic() - self._at)


@dataclass(frozen=True, slots=True)
class _Call:
    """One request."""

    method: str
    path: str
    parameters: Mapping[str, str]
    body: object = None
    content_type: str = "application/json"
    accept: str = "application/json"

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class _Status(msgspec.Struct):
    message: str = ""
    metadata: ContinueMeta = ContinueMeta()


class _Kind(msgspec.Struct):
    kind: str = ""


class Connection:
    """Requests to one kube-apiserver, as one identity."""

    def __init__(self, kubeconfig: Path | None) -> None:
        """Take a kubeconfig file; None is the service account of the Pod that this runs in."""
        self._kubeconfig = kubeconfig
        self._credentials: Credentials | None = None
        self._client: ApiClient | None = None
        self._connector: Connector | None = None
        self.server_clock = ServerClock()

    async def open(self) -> None:
        """Read the credentials. Nothing is sent yet.

        Raises:
            SettingsError: they are missing or broken.
        """
        self._credentials = await Credentials.read(self._kubeconfig)
        try:
            self._client = ApiClient(self._credentials.configuration)
        except (OSError, ValueError, TypeError) as error:  # of OSError, SSLError is one
            message = f"cannot use the cluster's certificates: {describe(error)}"
            raise SettingsError(message) from None
        self._client.user_agent = USER_AGENT
        self._connector = Connector(
            self._client.rest_client.ssl_context,
            self._credentials.configuration.connection_pool_maxsize,
        )
        self._credentials.configuration.client_session_kwargs = {"connector": self._connector}

    async def close(self) -> None:
        """Close every connection."""
        if self._credentials:
            await self._credentials.close()
        if self._client:
            await self._client.close()  # type: ignore[no-untyped-call]  # The package types little.
        if self._connector:
            await self._connector.close()
        self._client = self._credentials = self._connector = None

    async def get(
        self,
        path: str,
        timeout_s: float,
        parameters: Mapping[str, str],
        *,
        accept: str = "application/json",
    ) -> bytes:
        """GET a path and return the body, in the form that `accept` names.

        Raises:
            ClusterError: no answer in `timeout_s` seconds, or a failure.
        """
        limits = aiohttp.ClientTimeout(total=timeout_s)
        call = _Call("GET", path, parameters, accept=accept)
        async with self._request(call, limits) as response:
            return await response.read()

    async def get_proxied(self, path: str, timeout_s: float) -> tuple[int, bytes]:
        """GET a path of kube-apiserver's proxy; return code and body of what stands behind it.

        Raises:
            ClusterError: no answer in `timeout_s` seconds, or kube-apiserver itself refuses, does
                not reach what stands behind it, or would have to read too much.
        """
        limits = aiohttp.ClientTimeout(total=timeout_s)
        call = _Call("GET", path, {}, accept="*/*")
        try:
            async with await self._send(call, limits) as answer:
                body = await answer.content.read(MAX_LINE + 1)
                while len(body) <= MAX_LINE and (more := await answer.content.read(MAX_LINE)):
                    body += more
                if _is_own_failure(answer.status, body):
                    raise _failure_of(call, answer, body)
                if len(body) > MAX_LINE:
                    raise ClusterError(f"{call}: answers more than {MAX_LINE} bytes")
                return answer.status, body
        except _FOREIGN as error:
            raise ClusterError(f"{call}: no answer: {describe(error)}") from None

    async def post(self, path: str, timeout_s: float, body: object) -> bytes:
        """POST JSON to a path and return the answer's body.

        Raises:
            ClusterError: as `get`.
        """
        limits = aiohttp.ClientTimeout(total=timeout_s)
        async with self._request(_Call("POST", path, {}, body), limits) as response:
            return await response.read()

    async def send(  # noqa: PLR0913  An HTTP request has this many parts.
        self,
        method: str,
        path: str,
        timeout_s: float,
        *,
        body: object = None,
        parameters: Mapping[str, str] = _NONE,
        content_type: str = "application/json",
    ) -> bytes:
        """Send any other request and return the answer's body.

        Raises:
            ClusterError: as `get`.
        """
        limits = aiohttp.ClientTimeout(total=timeout_s)
        call = _Call(method, path, parameters, body, content_type)
        async with self._request(call, limits) as response:
            return await response.read()

    @asynccontextmanager
    async def stream(
        self, path: str, parameters: Mapping[str, str], *, answer_s: float, silence_s: float
    ) -> AsyncIterator[AsyncIterator[list[bytes]]]:
        """GET a path whose answer goes on, and give its lines, as many at once as have come.

        Entering waits at most `answer_s` seconds for the answer to begin; `silence_s` seconds
        without a byte end it.

        Raises:
            ClusterError: no answer, a failure, a break, silence, or a line without an end.
        """
        limits = aiohttp.ClientTimeout(
            total=None, connect=answer_s, sock_connect=answer_s, sock_read=silence_s
        )
        call = _Call("GET", path, parameters)
        request = self._request(call, limits, answer_s)
        async with request as response, aclosing(_lines(response)) as lines:
            yield lines

    @asynccontextmanager
    async def _request(
        self, call: _Call, limits: aiohttp.ClientTimeout, answer_s: float | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request and yield its answer; foreign errors are translated here alone."""
        try:
            async with asyncio.timeout(answer_s):
                answer = await self._send(call, limits)
            async with answer:
                self.server_clock.note(answer.headers.get("Date"))
                if answer.status >= HTTPStatus.BAD_REQUEST:
                    raise await _failure(call, answer)
                yield answer
        except _FOREIGN as error:
            raise ClusterError(f"{call}: no answer: {describe(error)}") from None

    async def _send(self, call: _Call, limits: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        if self._client is None:
            raise ClusterError("the connection to kube-apiserver is not open")
        try:
            request = await self._client.param_serialize(
                call.method,
                call.path,
                query_params=list(call.parameters.items()),
                header_params={"Accept": call.accept, "Content-Type": call.content_type},
                body=call.body,
                auth_settings=["BearerToken"],
            )
            answer = await self._client.call_api(*request, _request_timeout=limits)
        except (ValueError, TypeError, OpenApiException) as error:
            # Only here: where an answer is used, these are defects of ours.
            raise ClusterError(f"{call}: cannot be sent: {describe(error)}") from None
        response: aiohttp.ClientResponse = answer.response
        return response


async def _failure(call: _Call, response: aiohttp.ClientResponse) -> ClusterError:
    return _failure_of(call, response, await response.content.read(MAX_FAILURE))


def _is_own_failure(status: int, body: bytes) -> bool:
    """Return whether kube-apiserver answers for itself, and not for what it is the proxy of."""
    if status < HTTPStatus.BAD_REQUEST:
        return False
    try:
        return msgspec.json.decode(body, type=_Kind).kind == "Status"
    except msgspec.DecodeError:
        return False


def _failure_of(call: _Call, response: aiohttp.ClientResponse, content: bytes) -> ClusterError:
    try:
        status = msgspec.json.decode(content, type=_Status)
    except msgspec.DecodeError:
        status = _Status()
    hint = _HINTS.get(response.status)
    text = f"{call}: {response.status} {status.message or response.reason or 'failed'}"
    token = status.metadata.continue_
    return ClusterError(f"{text}: {hint}" if hint else text, response.status, token)


async def _lines(response: aiohttp.ClientResponse) -> AsyncGenerator[list[bytes]]:
    rest = b""
    async for chunk in response.content.iter_any():
        *whole, rest = (rest + chunk).split(b"\n")
        if len(rest) > MAX_LINE:
            message = f"a line of {response.url.path} exceeds {MAX_LINE} bytes"
            raise ClusterError(message, HTTPStatus.BAD_GATEWAY)
        if whole:
            yield whole
    if rest:
        raise ClusterError(f"{response.url.path} ended in the middle of a line")
