"""Requests to the auditor: headers and certificate that each must show, and its answer."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from audit.ledger.server.frames_protocol import CLUSTER_HEADER, FORMAT, FORMAT_HEADER
from core.base.process_names import process_uri
from network.asgi import Send

RETRY: Final = (b"retry-after", b"1")

_CLUSTER: Final = re.compile(r"[A-Za-z0-9._-]{1,63}")
_FORMATS: Final = {str(version) for version in range(FORMAT - 1, FORMAT + 2)}


class RefusedError(Exception):
    """A request is answered with a failure; the text is for a person, the cause for the log."""

    def __init__(
        self, status: int, text: str, *headers: tuple[bytes, bytes], cause: str = ""
    ) -> None:
        self.status = status
        self.headers = headers
        self.cause = cause
        super().__init__(text)


def headers_of(scope: Mapping[str, Any]) -> dict[bytes, str]:
    """Return the headers of a request by their names in lower case; of several, the last."""
    return {name: value.decode("latin-1") for name, value in scope["headers"]}


def read_cluster(scope: Mapping[str, Any], headers: Mapping[bytes, str], process: str = "") -> str:
    """Return the cluster that a request speaks for; with `process`, as that one of its processes.

    Raises:
        RefusedError: its format is of another age, it names no cluster, or its certificate (TLS)
            is of none of that cluster's processes, or not of that one.
    """
    version = headers.get(FORMAT_HEADER.lower().encode(), "")
    if version not in _FORMATS:
        raise RefusedError(400, f"{FORMAT_HEADER} must be {FORMAT - 1} to {FORMAT + 1}")
    cluster = headers.get(CLUSTER_HEADER.lower().encode(), "")
    if not _CLUSTER.fullmatch(cluster):
        raise RefusedError(400, f"{CLUSTER_HEADER} must be a cluster's id")
    peer = (scope.get("extensions") or {}).get("sallyport.peer") or {}
    wanted = process_uri(cluster, process)
    if not any(_shows(uri, wanted, process) for uri in peer.get("uris", ())):
        shown = wanted if process else f"{wanted}PROCESS"
        text = f"{CLUSTER_HEADER}: the client certificate does not carry a URI {shown}"
        raise RefusedError(403, text)
    return cluster


GATE: Final = "gate"
"""The process of which there are several at a time."""


class Sender(NamedTuple):
    """Who sends records."""

    process: str
    """As `core.base.process_names.process_uri` has it."""
    instance: str = ""
    """Name of its Pod; empty where nothing proves it."""


def read_sender(scope: Mapping[str, Any], cluster: str, known: Collection[str]) -> Sender:
    """Return the process of a cluster that a request's certificate names, and which one it is.

    The URI `sallyport://CLUSTER/gate/POD` names an instance; `sallyport://CLUSTER/gate` none.

    Raises:
        RefusedError: it names several, or none that is `known`.
    """
    beginning = process_uri(cluster, "")
    peer = (scope.get("extensions") or {}).get("sallyport.peer") or {}
    uris: Iterable[str] = peer.get("uris", ())
    named = [uri.removeprefix(beginning) for uri in uris if uri.startswith(beginning)]
    process, slash, instance = named[0].partition("/") if len(named) == 1 else ("", "", "")
    if process not in known or (slash and (process != GATE or not instance)):
        names = " or ".join(f"{beginning}{each}" for each in sorted(known))
        text = f"the client certificate must carry one URI {names}; a gate's may end in /POD"
        raise RefusedError(403, text)
    return Sender(process, instance)


def read_token(headers: Mapping[bytes, str]) -> str:
    """Return the bearer token of a request (RFC 6750, section 2.1); empty without one."""
    scheme, _, token = headers.get(b"authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _shows(uri: str, wanted: str, process: str) -> bool:
    if process:
        return uri == wanted
    return len(uri) > len(wanted) and uri.startswith(wanted)


async def send_answer(
    send: Send, status: int, content_type: bytes, body: bytes, *headers: tuple[bytes, bytes]
) -> None:
    """Send one whole answer."""
    every = ((b"content-type", content_type), *headers, (b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": status, "headers": every})
    await send({"type": "http.response.body", "body": body})


async def send_refusal(send: Send, refused: RefusedError) -> None:
    """Send a refusal; the connection ends, since the rest of the request may be on its way."""
    close = (b"connection", b"close")
    body = f"{refused}\n".encode()
    await send_answer(send, refused.status, b"text/plain", body, close, *refused.headers)
