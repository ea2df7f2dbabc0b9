"""Volumes that show blobs of Azure Storage: which account, which container, by which way. Pure.

Sources: kubernetes-sigs/blob-csi-driver (pkg/blob/blob.go, pkg/blob/nodeserver.go and its page
driver-parameters.md): names of attributes in any case, the account of a volume written into a
Pod taken from its Secret; NFS 3.0 on blobs: the exported path is `/ACCOUNT/CONTAINER`.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Final
from urllib.parse import urlsplit

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import decode_json_as

BLOB_DRIVERS: Final = frozenset({"blob.csi.azure.com", "azure/blobfuse"})
"""CSI driver, and the FlexVolume driver that it replaced."""

NFS_DRIVER: Final = "nfs.csi.k8s.io"

MOST_ATTRIBUTES: Final = 1000
"""Of one volume: each may name a host of Azure Storage. Drivers know a few dozen."""

_ACCOUNT: Final = ("storageaccount", "storageaccountname", "accountname")
_CONTAINER: Final = ("containername", "container")
_CLIENT: Final = ("clientid", "azurestorageidentityclientid", "azurestoragespnclientid")
_OBJECT: Final = ("azurestorageidentityobjectid",)
_BLOB_SERVICES: Final = frozenset({"blob", "dfs"})
_SUFFIXES: Final = (
    "core.windows.net",
    "storage.azure.net",
    "core.usgovcloudapi.net",
    "core.chinacloudapi.cn",
)
_OF_AZURE: Final = tuple(f".{each}" for each in _SUFFIXES)
"""Of Azure's clouds: a host of any other may lead to whatever account."""
_NAME_OF_ACCOUNT: Final = re.compile(r"[a-z0-9]{3,24}")
_NAME_OF_CONTAINER: Final = re.compile(r"[a-z0-9$-]{1,63}")
_MOST_SPELLINGS: Final = 8
"""Of one attribute that are told apart; where it comes more often, what it says is hidden."""
_NULL: Final = b"null"


class BlobMount(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """One way in which a volume, or a container that mounts by itself, shows blobs."""

    account: str = ""
    """In lower case; empty where it hides which: a Secret says it, or nothing does."""
    container: str = ""
    """In lower case; empty for all of the account, or where it hides which."""
    server: str = ""
    """The host or address that it names, in lower case; empty for the account's own name."""
    key: bool = False
    """Whether it opens the account with a key or a SAS of a Secret, or may do so."""
    client_id: str = ""
    """As whom it signs in, in lower case, where it says so."""
    object_id: str = ""
    read_only: bool = False
    certain: bool = True
    """False where only words of a container's environment or arguments hint at it."""
    path: str = ""
    """The field that shows it, from the Pod's root."""

    @property
    def place(self) -> str:
        """Return `account/container`, with what is hidden left out."""
        return f"{self.account}/{self.container}"


class _Reference(msgspec.Struct):
    name: str = ""


class _DriverSource(msgspec.Struct, rename="camel"):
    """A CSI source of a Pod or a PersistentVolume, or a FlexVolume one."""

    driver: str = ""
    read_only: bool | None = None
    volume_handle: str = ""
    volume_attributes: dict[str, str] | None = None
    options: dict[str, str] | None = None
    node_publish_secret_ref: _Reference | None = None
    node_stage_secret_ref: _Reference | None = None
    secret_ref: _Reference | None = None


class _Nfs(msgspec.Struct, rename="camel"):
    server: str = ""
    path: str = ""
    read_only: bool | None = None


def find_blob_mounts(
    sources: Mapping[str, msgspec.Raw], path: str, *, inline: bool, options: str = ""
) -> tuple[BlobMount, ...]:
    """Return what the sources of one volume show; `path` is the field that holds them.

    `inline`: a Pod writes the volume itself, rather than that a PersistentVolume does, whose mount
    options `options` are.

    Raises:
        InvalidObjectError: a source does not have its shape; names the field.
    """
    found: list[BlobMount] = []
    for kind in ("csi", "flexVolume"):
        raw = sources.get(kind)
        if raw is not None and bytes(raw) != _NULL:
            source = decode_json_as(_DriverSource, raw, "volume", f"{path}.{kind}")
            found += _of_driver(source, f"{path}.{kind}", inline, options)
    raw = sources.get("nfs")
    if raw is not None and bytes(raw) != _NULL:
        nfs = decode_json_as(_Nfs, raw, "volume", f"{path}.nfs")
        found += _of_nfs(nfs.server, nfs.path, f"{path}.nfs", read_only=bool(nfs.read_only))
    return tuple(found)


def account_of_host(host: str) -> str:
    """Return the account that a host of Azure Storage is of; empty for any other host."""
    labels = host.lower().rstrip(".").split(".")
    if not _BLOB_SERVICES.isdisjoint(labels[1:-1]):
        return labels[0].removesuffix("-secondary")
    return ""


def host_of(text: str) -> str:
    """Return the host of an address that may be a whole URL, in lower case."""
    text = text.strip().lower()
    try:
        parsed = urlsplit(text if "//" in text else f"//{text}")
        return (parsed.hostname or "").rstrip(".")
    except ValueError:
        return text


def _of_driver(
    source: _DriverSource,
    path: str,
    inline: bool,  # noqa: FBT001
    options: str,
) -> Iterator[BlobMount]:
    attributes: dict[str, list[str]] = {}
    for field, given in (
        ("volumeAttributes", source.volume_attributes),
        ("options", source.options),
    ):
        if given and len(given) > MOST_ATTRIBUTES:
            problem = f"holds {len(given):,}; more than {MOST_ATTRIBUTES:,} are not judged"
            raise InvalidObjectError("volume", f"{path}.{field}", problem)
        for key, value in (given or {}).items():
            attributes.setdefault(key.strip().lower(), []).append(value.strip())
    driver, read_only = source.driver.lower(), bool(source.read_only)
    if driver == NFS_DRIVER:
        yield from _of_nfs_driver(attributes, path, read_only=read_only)
    elif driver in BLOB_DRIVERS:
        attributes.setdefault("mountoptions", []).append(options)
        yield from _of_blobs(source, attributes, path, inline)
    else:
        yield from _of_others(attributes, path, read_only=read_only)


def _of_blobs(
    source: _DriverSource,
    attributes: Mapping[str, list[str]],
    path: str,
    inline: bool,  # noqa: FBT001
) -> Iterator[BlobMount]:
    rest = source.volume_handle.split("#")
    handle = rest[1:3] if len(rest) > 2 else ["", ""]  # noqa: PLR2004  rg#account#container#…
    accounts = _said(attributes, _ACCOUNT) or [handle[0].lower()]
    containers = _said(attributes, _CONTAINER) or [handle[1].lower()]
    clients, objects = _said(attributes, _CLIENT), _said(attributes, _OBJECT)
    servers = [host for host in map(host_of, attributes.get("server", ())) if host]
    over_nfs = "nfs" in {each.lower() for each in attributes.get("protocol", ())}
    kinds = {each.lower() for each in attributes.get("azurestorageauthtype", ())}
    key = not (over_nfs or clients or objects or kinds & {"msi", "spn"})
    workload_identity = attributes.get("clientid", [""])
    asks_none = key or all(attributes.get("keyvaulturl", [""]))
    if not (over_nfs or all(workload_identity)) and (inline or not asks_none):
        # The driver takes it from a Secret, whatever is said here, and looks for one where none is
        # named. An identity opens what that says without a key (pkg/blob/blob.go, GetAuthEnv).
        accounts = [*accounts, ""]
    accounts += [account_of_host(host) for host in servers if account_of_host(host)]
    if _leads_elsewhere(servers, attributes.get("storageendpointsuffix", ())):
        accounts.append("")
    # The driver's own word for the container yields to that of mount options (pkg/blob/blob.go,
    # appendDefaultMountOptions); a file of settings may name the account, too.
    said = " ".join(attributes.get("mountoptions", ())).lower()
    if "container-name" in said or "config-file" in said:
        containers.append("")
    if "config-file" in said or _is_crowded(accounts, containers, servers, clients):
        accounts, containers = [""], [""]
    # An attribute may come twice, in other letters: the driver takes either, in no order.
    for account, container, server, client in product(
        dict.fromkeys(map(_account, accounts)),
        dict.fromkeys(map(_container, containers)),
        list(dict.fromkeys(servers or [""]))[:_MOST_SPELLINGS],
        list(dict.fromkeys(clients or [""]))[:_MOST_SPELLINGS],
    ):
        yield BlobMount(
            account=account,
            container=container,
            server=server,
            key=key,
            client_id=client,
            object_id=objects[0] if objects else "",
            read_only=bool(source.read_only),
            path=path,
        )


def _of_others(
    attributes: Mapping[str, list[str]], path: str, *, read_only: bool
) -> Iterator[BlobMount]:
    """Yield what another driver's attributes name: a host of Azure Storage, in any of them."""
    containers = [_container(each) for each in _said(attributes, _CONTAINER)] or [""]
    containers = [""] if _is_crowded(containers) else containers
    for value in (each for values in attributes.values() for each in values):
        host = host_of(value)
        account = account_of_host(host)
        for container in containers if account else ():
            yield BlobMount(
                account=account, container=container, server=host, read_only=read_only, path=path
            )


def _of_nfs_driver(
    attributes: Mapping[str, list[str]], path: str, *, read_only: bool
) -> Iterator[BlobMount]:
    """Yield what NFS' own driver mounts: a share, or a folder below it."""
    servers, shares = attributes.get("server", ()), attributes.get("share", ())
    below = attributes.get("subdir", [""])
    if _is_crowded(servers, shares, below):
        yield BlobMount(read_only=read_only, path=path)
        return
    for server, share, folder in product(servers, shares, below):
        yield from _of_nfs(server, f"{share}/{folder}", path, read_only=read_only)


def _of_nfs(server: str, exported: str, path: str, *, read_only: bool) -> Iterator[BlobMount]:
    segments = [each for each in posixpath.normpath(f"/{exported.lower()}").split("/") if each]
    account, container = [*segments, "", ""][:2]
    host = host_of(server)
    known = account_of_host(host)
    for one in dict.fromkeys((known, account) if known else (account,)):
        # Another server may be one that passes on what an account exports: it is only like it.
        yield BlobMount(
            account=one,
            container=container,
            server=host,
            read_only=read_only,
            certain=bool(known),
            path=path,
        )


def _said(attributes: Mapping[str, list[str]], keys: tuple[str, ...]) -> list[str]:
    return [value.lower() for key in keys for value in attributes.get(key, ()) if value]


def _is_crowded(*attributes: Iterable[str]) -> bool:
    """Return whether one comes in more values than anybody means.

    All of them are not multiplied.
    """
    return any(len(set(values)) > _MOST_SPELLINGS for values in attributes)


def _leads_elsewhere(servers: Iterable[str], suffixes: Sequence[str]) -> bool:
    """Return whether a server, or a suffix of the account's, is none of Azure's own."""
    named = [*servers, *(each.lower().strip(". ") for each in suffixes)]
    return any(each and not f".{each}".endswith(_OF_AZURE) for each in named)


def _account(text: str) -> str:
    """Return an account's name.

    What can be none hides it. Its second region has the same weights.
    """
    text = text.removesuffix("-secondary")
    return text if _NAME_OF_ACCOUNT.fullmatch(text) else ""


def _container(text: str) -> str:
    """Return a container's name; what can be none hides it.

    The driver fills in placeholders later, and what stands after a blank is further words of the
    command that it mounts with.
    """
    text = text.strip("/").partition("/")[0]
    return text if _NAME_OF_CONTAINER.fullmatch(text) else ""
