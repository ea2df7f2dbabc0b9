"""Where in storage a request went: account, container, blob, and what its query says. Pure.

`objectKey` is `/account/container/blob`, decoded. Of copies it can be a URL, some exports leave it
out, and it may be encoded: then `uri` counts, which always is.

Paths are resolved as storage resolves them: `.` and `..` are taken out after decoding, also where
they were encoded, and a backslash is a slash (issues azure-sdk-for-rust 5275, azure-sdk-for-js
5405). Slashes that stand together stay: in a flat namespace `a//b` is another blob than `a/b`.
"""

from typing import Final, NamedTuple
from urllib.parse import unquote

from audit.access.parsers.operations import OperationLevel
from audit.access.parsers.redaction import scrub, strip_signatures

MOST_PATH: Final = 2048
"""Characters kept of a blob's path; storage allows 1,024."""

ROOT: Final = "$root"
"""The container of blobs that lie right below the account."""

_OF_CONTAINER: Final = "restype=container"
"""In the query of every operation that is of a container."""

_ACCOUNTS: Final = "/storageaccounts/"
_MOST_WORD: Final = 256

QUERY: Final = {
    "prefix": "prefix",
    "directory": "directory",
    "snapshot": "snapshot",
    "versionid": "version",
    "comp": "comp",
    "action": "action",
    "sp": "sasPermissions",
    "se": "sasExpires",
    "st": "sasStarts",
    "sr": "sasResource",
    "srt": "sasResourceTypes",
    "ss": "sasServices",
    "sip": "sasAddresses",
    "spr": "sasProtocols",
    "si": "sasPolicy",
    "skoid": "delegator",
    "sktid": "delegatorTenant",
    "saoid": "sasAuthorized",
    "suoid": "sasUnauthorized",
    "sduoid": "sasUser",
}
"""What is kept of a query, and under which name; all else, `sig` first of all, is left."""


class StoragePlace(NamedTuple):
    """Somewhere in storage."""

    account: str
    container: str = ""
    blob: str = ""

    @property
    def text(self) -> str:
        """`account/container/blob`."""
        return "/".join(part for part in self if part)


def account_of(resource: str) -> str:
    """Name the account of a resource id; empty where it is of none."""
    low = resource.lower()
    at = low.find(_ACCOUNTS)
    return low[at + len(_ACCOUNTS) :].partition("/")[0][:_MOST_WORD] if at >= 0 else ""


def place_of(account: str, key: str, uri: str, level: OperationLevel) -> StoragePlace:
    """Return the place of a request in the log of an account."""
    head = f"/{account}/"
    if key.startswith(head) and "%" not in key:
        container, blob = _split(key[len(head) :])
    elif uri:
        place = uri_place(uri, account)
        container, blob = place.container, place.blob
    else:
        place = uri_place(key, account) if "://" in key else _pathed(account, unquote(key))
        container, blob = place.container, place.blob
    alone = container and not blob and level is OperationLevel.BLOB
    if alone and ".dfs." not in uri and _OF_CONTAINER not in uri.lower():
        container, blob = ROOT, container
    return StoragePlace(account, container[:_MOST_WORD], strip_signatures(blob)[:MOST_PATH])


def uri_place(uri: str, account: str = "") -> StoragePlace:
    """Return the place of a URL, in whatever account; `account` is whose log it stands in."""
    _, _, rest = uri.partition("://")
    rest = rest.partition("?")[0]
    host, _, path = rest.partition("/")
    name = host.partition(":")[0].partition(".")[0].removesuffix("-secondary").lower()
    path = unquote(path)
    if name.isdigit() or name == "localhost" or host.startswith("["):  # An emulator, an address.
        return _pathed(account, f"/{path}")
    container, blob = _split(path)
    return StoragePlace(
        (name or account)[:_MOST_WORD], container[:_MOST_WORD], strip_signatures(blob)[:MOST_PATH]
    )


def _pathed(account: str, path: str) -> StoragePlace:
    """Return the place of `/account/container/blob`."""
    first, _, rest = path.strip('"').removeprefix("/").partition("/")
    if account and first.lower() != account:
        return StoragePlace(account)
    container, blob = _split(rest)
    return StoragePlace(
        first.lower()[:_MOST_WORD], container[:_MOST_WORD], strip_signatures(blob)[:MOST_PATH]
    )


def _split(path: str) -> tuple[str, str]:
    """Return container and blob of a decoded path below the account, dot segments resolved."""
    if "\\" in path:
        path = path.replace("\\", "/")
    if path[:1] in {"/", "."} or "/." in path:
        path = _without_dots(path.lstrip("/"))
    container, _, blob = path.partition("/")
    return container, blob


def _without_dots(path: str) -> str:
    """Return a path without dot segments: RFC 3986, 5.2.4; nothing leads out of the account."""
    kept: list[str] = []
    *before, last = path.split("/")
    for part in before:
        if part == "..":
            del kept[-1:]
        elif part != ".":
            kept.append(part)
    if last == "..":
        del kept[-1:]
    return "/".join([*kept, "" if last in {".", ".."} else last]).lstrip("/")


def query_of(uri: str) -> dict[str, str]:
    """Return what is kept of the query of a URL; never a signature."""
    found: dict[str, str] = {}
    for part in uri.partition("?")[2].split("&", 64)[:64]:
        key, _, value = part.partition("=")
        name = QUERY.get(key.lower())
        if name and value:
            found[name] = scrub(unquote(value))[:_MOST_WORD]
    return found
