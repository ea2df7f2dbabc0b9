"""The wire types of lists and watches (apimachinery, meta/v1), and how a restored etcd shows.

After a restore kube-apiserver is not as far as it was. It takes a watch from a version that is yet
to come, and says nothing until that has come: what was undone would count on, and what is done
meanwhile not be heard of. Versions grow (Kubernetes' KEP 5504). A watch lasts a minute, so
`find_rollback` asks once a minute of each.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

import msgspec

from core.base.errors import ClusterError

if TYPE_CHECKING:  # It imports aiohttp and kubernetes: not for a folder's sake.
    from kube.client.connection import Connection

_LIST_META = {"resource_version": "resourceVersion", "continue_": "continue"}


class ObjectMeta(msgspec.Struct, rename="camel"):
    """`metadata` of an object."""

    name: str = ""
    namespace: str = ""
    resource_version: str = ""

    @property
    def key(self) -> str:
        """What tells objects of one kind apart: the name, with the namespace where it has one."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Object(msgspec.Struct):
    """Any object."""

    metadata: ObjectMeta


class ListMeta(msgspec.Struct, rename=_LIST_META):
    """`metadata` of a list."""

    resource_version: str
    continue_: str = ""


class List(msgspec.Struct):
    """A list of objects of any kind, each left as JSON."""

    metadata: ListMeta
    items: list[msgspec.Raw] | None


class Event(msgspec.Struct):
    """One line of a watch."""

    type: str
    object: msgspec.Raw


class Status(msgspec.Struct):
    """Why a watch ended."""

    code: int = 0
    message: str = ""


_Part = TypeVar("_Part", List, Object, Event, Status)


class UnreadableError(Exception):
    """What kube-apiserver sent is not what the protocol says: list again, and say so."""


def decode(body: bytes | msgspec.Raw, kind: type[_Part]) -> _Part:
    """Read one part of an answer.

    Raises:
        UnreadableError: it is none.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise UnreadableError(f"not a {kind.__name__} of Kubernetes: {error}") from error


async def find_rollback(
    connection: "Connection",
    path: str,
    version: str,
    timeout_s: float,
    selecting: Mapping[str, str] | None = None,
) -> str:
    """Return the version of a collection where it is an older one than `version`; else nothing.

    Raises:
        ClusterError: kube-apiserver does not answer, or refuses.
    """
    body = await connection.get(path, timeout_s, {**(selecting or {}), "limit": "1"})
    try:
        now = msgspec.json.decode(body, type=List).metadata.resource_version
    except msgspec.DecodeError as error:
        raise ClusterError(f"{path}: not a List of Kubernetes: {error}") from error
    numbers = now.isdecimal() and version.isdecimal()
    return now if numbers and int(now) < int(version) else ""
