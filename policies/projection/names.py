"""What the names in the URL of a proxied request say: whom it is for, and which port."""

from typing import NamedTuple

from core.base.errors import InvalidObjectError

_SCHEMES = ("http", "https")


class Target(NamedTuple):
    """Whom a proxied request is for."""

    name: str
    port: str = ""


def split_target(kind: str, name: str) -> Target:
    """Read `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`.

    As kube-apiserver does (SplitSchemeNamePort in k8s.io/apimachinery/pkg/util/net/port_split.go),
    which answers any other name with an error of its own.

    Raises:
        InvalidObjectError: it is none of these.

    >>> split_target("PodProxyOptions", "https:web-0:8443")
    Target(name='web-0', port='8443')
    """
    match name.split(":"):
        case [target] if target:
            return Target(target)
        case [target, port] if target:
            return Target(target, port)
        case [scheme, target, port] if target and scheme in {"", *_SCHEMES}:
            return Target(target, port)
    raise InvalidObjectError(kind, "name", "must be NAME, NAME:PORT or SCHEME:NAME:PORT")
