"""The projections of connections to Pods, Services and nodes: their targets and options.

Sources: k8s.io/api/core/v1 types.go (PodExecOptions and the others).
"""

import posixpath
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import decode_json_as
from policies.projection.model import Object, Projection, check_length

_SCHEMES = ("http", "https")

_SYSTEM_DIRECTORIES: Final = frozenset(
    {
        "/bin",
        "/sbin",
        "/usr/bin",
        "/usr/sbin",
        "/usr/local/bin",
        "/usr/local/sbin",
    }
)
"""Where a container's PATH leads to when nothing else is said (the default of containerd and
CRI-O): a program there is the one that its plain name means."""


class ProxyTarget(NamedTuple):
    """Whom a proxied request is for."""

    name: str
    port: str = ""


def split_target(kind: str, name: str) -> ProxyTarget:
    """Read `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`.

    As kube-apiserver does (SplitSchemeNamePort in k8s.io/apimachinery/pkg/util/net/port_split.go),
    which answers any other name with an error of its own.

    Raises:
        InvalidObjectError: it is none of these.

    >>> split_target("PodProxyOptions", "https:web-0:8443")
    ProxyTarget(name='web-0', port='8443')
    """
    match name.split(":"):
        case [target] if target:
            return ProxyTarget(target)
        case [target, port] if target:
            return ProxyTarget(target, port)
        case [scheme, target, port] if target and scheme in {"", *_SCHEMES}:
            return ProxyTarget(target, port)
    raise InvalidObjectError(kind, "name", "must be NAME, NAME:PORT or SCHEME:NAME:PORT")


class _Struct(msgspec.Struct, frozen=True, rename="camel"):
    """camelCase on the wire."""


class _Exec(_Struct, frozen=True):
    command: list[str] | None = None
    stdin: bool | None = None
    tty: bool | None = None


class _Proxy(_Struct, frozen=True):
    path: str | None = None


def _exec(read: _Exec, kind: str, name: str) -> Object:
    command = read.command or []
    program = command[0] if command else ""
    check_length(program, "command[0]", kind)
    return Object(
        kind,
        name,
        command=_program(program),
        arguments=len(command) > 1,
        stdin=bool(read.stdin),
        tty=bool(read.tty),
    )


def _stream(read: _Exec, kind: str, name: str) -> Object:
    return Object(kind, name, stdin=bool(read.stdin), tty=bool(read.tty))


def _ports(_: _Exec, kind: str, name: str) -> Object:
    return Object(kind, name)


def _proxy(_: _Proxy, kind: str, name: str) -> Object:
    target = split_target(kind, name)
    return Object(kind, target.name, port=target.port)


def _node_proxy(read: _Proxy, kind: str, name: str) -> Object:
    target = split_target(kind, name)
    path = read.path or ""
    check_length(path, "path", kind)
    return Object(kind, target.name, port=target.port, endpoint=first_part(path))


def _program(command: str) -> str:
    """Return a program's plain name where that means it, else what was written."""
    directory, _, name = command.rpartition("/")
    return name if name and directory in _SYSTEM_DIRECTORIES else command


def first_part(path: str) -> str:
    """Return the first part of a path as a node gets it: kube-apiserver cleans it.

    See JoinPreservingTrailingSlash in k8s.io/apimachinery/pkg/util/net/http.go.

    >>> first_part("/metrics/../exec/train/llama-0/trainer")
    'exec'
    """
    return posixpath.normpath("/" + path.lstrip("/")).split("/")[1]


_KINDS: Final[Mapping[str, tuple[type[Any], Callable[[Any, str, str], Object]]]] = {
    "PodExecOptions": (_Exec, _exec),
    "PodAttachOptions": (_Exec, _stream),
    "PodPortForwardOptions": (_Exec, _ports),
    "PodProxyOptions": (_Proxy, _proxy),
    "ServiceProxyOptions": (_Proxy, _proxy),
    "NodeProxyOptions": (_Proxy, _node_proxy),
}

CONNECTION_KINDS: Final = frozenset(_KINDS)
"""The kinds of options that `project_connection` reads; all are in the core group."""


def project_connection(kind: str, name: str, raw: bytes | msgspec.Raw) -> Projection:
    """Return the projection of a connection of one of CONNECTION_KINDS. Pure.

    `name` is the one in the URL: of a Pod, Service or node, for proxies with scheme and port.

    Raises:
        InvalidObjectError: the options do not have their kind's shape, or the name is none.
    """
    shape, describe = _KINDS[kind]
    read = decode_json_as(shape, raw, kind)
    return Projection(containers=[], object=describe(read, kind, name))
