"""Runs a command in a container, over the WebSocket of kube-apiserver's `exec`.

Protocol `v4.channel.k8s.io`: the first byte of a message says of which stream it is
(k8s.io/kubelet pkg/cri/streaming/remotecommand/websocket.go; k8s.io/apimachinery
pkg/util/remotecommand/constants.go).
"""

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import msgspec
from kubernetes.aio.stream.ws_client import (
    ERROR_CHANNEL,
    STDERR_CHANNEL,
    STDOUT_CHANNEL,
    WsApiClient,
)

from core.base.errors import ClusterError
from kube.client.credentials import Credentials
from network.error_texts import describe

MAX_OUTPUT: Final = 1024 * 1024
"""Bytes that are taken of what a command writes."""

_EXIT_CODE: Final = "ExitCode"


class ExecResult(msgspec.Struct, frozen=True):
    """How a command ended."""

    code: int
    out: str
    err: str


class _Cause(msgspec.Struct, frozen=True):
    reason: str = ""
    message: str = ""


class _Details(msgspec.Struct, frozen=True):
    causes: list[_Cause] = []


class _Status(msgspec.Struct, frozen=True):
    status: str = ""
    message: str = ""
    details: _Details | None = None


_STATUS: Final = msgspec.json.Decoder(_Status)


class PodExec:
    """Runs commands in the Pods of one cluster."""

    def __init__(self, kubeconfig: Path | None) -> None:
        self._kubeconfig = kubeconfig
        self._credentials: Credentials | None = None
        self._client: WsApiClient | None = None

    async def __aenter__(self) -> Self:
        """Read the credentials. Nothing is sent yet.

        Raises:
            SettingsError: they are missing or broken.
        """
        self._credentials = await Credentials.read(self._kubeconfig)
        self._client = WsApiClient(self._credentials.configuration)  # type: ignore[no-untyped-call]  # The package types little.
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close what is open."""
        if self._client:
            await self._client.close()  # type: ignore[no-untyped-call]  # As above.
        if self._credentials:
            await self._credentials.close()

    async def run(
        self, pod: tuple[str, str], container: str, command: Sequence[str], timeout_s: float
    ) -> ExecResult:
        """Run a command in a container of a Pod (namespace and name).

        Raises:
            ClusterError: it could not be run, did not end in time, or the answer broke off.
        """
        what = f"exec in {pod[0]}/{pod[1]}"
        try:
            async with asyncio.timeout(timeout_s):
                return await self._run(pod, container, command, what)
        except TimeoutError:
            raise ClusterError(f"{what}: no end in {timeout_s:g} s") from None
        except aiohttp.WSServerHandshakeError as error:
            raise ClusterError(f"{what}: {_refused(error.status)}", error.status) from None
        except (aiohttp.ClientError, OSError) as error:
            raise ClusterError(f"{what}: no answer: {describe(error)}") from None

    async def _run(
        self, pod: tuple[str, str], container: str, command: Sequence[str], what: str
    ) -> ExecResult:
        if self._client is None:
            raise ClusterError("the connection to kube-apiserver is not open")
        path = f"/api/v1/namespaces/{pod[0]}/pods/{pod[1]}/exec"
        query = [("stdout", "true"), ("stderr", "true"), ("container", container)]
        query += [("command", word) for word in command]
        method, url, headers, *_ = await self._client.param_serialize(
            "GET", path, query_params=query, header_params={}, auth_settings=["BearerToken"]
        )
        opened = await self._client.request(method, url, headers=headers, _preload_content=False)  # type: ignore[no-untyped-call]  # As above.
        found: dict[int, bytes] = {}
        async with opened as socket:
            async for message in socket:
                _take(message, found, what)
        return _ran(found, what)


def _take(message: Any, found: dict[int, bytes], what: str) -> None:
    data = message.data
    if isinstance(data, str):
        data = data.encode()
    if not isinstance(data, bytes) or not data:
        return
    channel, rest = data[0], data[1:]
    found[channel] = found.get(channel, b"") + rest
    if len(found[channel]) > MAX_OUTPUT:
        raise ClusterError(f"{what}: writes more than {MAX_OUTPUT} bytes")


def _ran(found: dict[int, bytes], what: str) -> ExecResult:
    if ERROR_CHANNEL not in found:
        raise ClusterError(f"{what}: broke off before the command ended")
    try:
        status = _STATUS.decode(found[ERROR_CHANNEL])
    except msgspec.DecodeError:
        raise ClusterError(f"{what}: ended without a status") from None
    out = found.get(STDOUT_CHANNEL, b"").decode(errors="replace")
    err = found.get(STDERR_CHANNEL, b"").decode(errors="replace")
    if status.status == "Success":
        return ExecResult(0, out, err)
    causes = status.details.causes if status.details else []
    code = next((each.message for each in causes if each.reason == _EXIT_CODE), "")
    if not code.isdecimal():
        raise ClusterError(f"{what}: {status.message or 'failed'}")
    return ExecResult(int(code), out, err)


def _refused(status: int) -> str:
    if status == HTTPStatus.FORBIDDEN:
        return "403: it needs the right to create (and get) pods/exec there"
    return f"{status}: kube-apiserver did not let it begin"
