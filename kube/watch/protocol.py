"""The parts of Kubernetes' own wire types that a client needs (apimachinery, meta/v1)."""

import msgspec

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
