"""`metadata` of Kubernetes' objects, as far as more than one reader reads it.

A reader that needs other fields names them itself: fields that are not named may have any value
and take no time, and annotations of a Pod alone can have 256 KiB.
"""

import msgspec


class OwnerReference(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """One of `metadata.ownerReferences`."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class ObjectMeta(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """`metadata` of what is admitted: a name may be yet to be generated."""

    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[OwnerReference] | None = None


class NameMeta(msgspec.Struct, frozen=True):
    """`metadata` of what is stored, and so has a name."""

    name: str


class IdentityMeta(msgspec.Struct, frozen=True, gc=False):
    """`metadata` of what is stored: its name, and what tells it from a later one of that name."""

    name: str
    uid: str = ""


class ContinueMeta(msgspec.Struct, frozen=True):
    """`metadata` of a page of a list, or of the status that refuses one: where to go on."""

    continue_: str = msgspec.field(default="", name="continue")
