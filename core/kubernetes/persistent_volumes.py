"""PersistentVolumes, as far as they carry privileges: where their bytes lie, and whose they are.

Source: k8s.io/api/core/v1 types.go, PersistentVolumeSpec.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from core.base.json_errors import DECODE_ERRORS, decode_error
from core.kubernetes.blob_volumes import BlobMount, find_blob_mounts
from core.kubernetes.shared_volumes import is_shared_volume

_NO_SOURCES: Final = frozenset(
    {
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    }
)
"""Fields of a PersistentVolume's `spec` that are no volume source; all others are taken for one."""

_NULL: Final = b"null"

_OPTIONS: Final = "volume.beta.kubernetes.io/mount-options"
"""Annotation that stands for `mountOptions`: kubelets heed it still (pkg/volume/util/util.go)."""

_TAKE_AWAY: Final = frozenset(
    {"ro", "noatime", "nodev", "nodiratime", "noexec", "nosuid", "relatime"}
)
"""Mount options that only take away, or say when a file was read (mount(8))."""

_OF_BLOBS: Final = frozenset({"csi", "flexVolume", "nfs"})
"""Sources that can show blobs of Azure Storage."""


class PersistentVolume(msgspec.Struct, frozen=True, gc=False):
    """What is kept of a PersistentVolume: about 300 bytes."""

    name: str
    types: tuple[str, ...] = ()
    """Its sources, as a Pod's volume would name them: a `local` one is a `hostPath`."""
    path: str = ""
    """Of a hostPath or local one: the path on the node."""
    path_type: str = ""
    """Of a hostPath one: what the kubelet wants, or makes, at the path."""
    local: bool = False
    """Whether its only source is `local`."""
    driver: str = ""
    """Of a csi one."""
    claim: str = ""
    """`namespace/name` of the claim that it is bound to, or kept for; empty for anyone's."""
    claim_uid: str = ""
    """Of the claim that it is bound to; empty where it is only kept for one."""
    secrets: tuple[tuple[str, str], ...] = ()
    """Fields of a csi source that name a Secret, each with the Secret's namespace, where that is
    not the namespace of the claim."""
    options: tuple[str, ...] = ()
    """What the mount is told besides `ro` and the like (_TAKE_AWAY)."""
    shared: bool = False
    """Whether it is a file system that others mount too (`core.kubernetes.shared_volumes`)."""
    mounts: tuple[BlobMount, ...] = ()
    """The blobs of Azure Storage that it shows; paths are of the volume."""


class _Reference(msgspec.Struct):
    namespace: str = ""
    name: str = ""
    uid: str = ""


class _Path(msgspec.Struct):
    path: str = ""
    type: str | None = None


class _SecretReference(msgspec.Struct):
    namespace: str = ""


class _Csi(msgspec.Struct, rename="camel"):
    driver: str = ""
    controller_expand_secret_ref: _SecretReference | None = None
    controller_publish_secret_ref: _SecretReference | None = None
    node_expand_secret_ref: _SecretReference | None = None
    node_publish_secret_ref: _SecretReference | None = None
    node_stage_secret_ref: _SecretReference | None = None


class _Meta(msgspec.Struct, frozen=True):
    name: str = ""
    annotations: dict[str, str] | None = None


class _Envelope(msgspec.Struct):
    metadata: _Meta = _Meta()
    spec: dict[str, msgspec.Raw] = {}


class _Sources(msgspec.Struct, frozen=True, rename="camel"):
    claim_ref: _Reference | None = None
    host_path: _Path | None = None
    local: _Path | None = None
    csi: _Csi | None = None
    mount_options: list[str] | None = None
    access_modes: list[str] | None = None
    volume_mode: str | None = None


class _Typed(msgspec.Struct):
    spec: _Sources = _Sources()


_ENVELOPE = msgspec.json.Decoder(_Envelope)
_TYPED = msgspec.json.Decoder(_Typed)


def parse_persistent_volume(raw: bytes | msgspec.Raw) -> PersistentVolume:
    """Read a PersistentVolume from its JSON.

    Raises:
        InvalidObjectError: with the field's path and what it must be.
    """
    try:
        envelope = _ENVELOPE.decode(raw)
        spec = _TYPED.decode(raw).spec
    except DECODE_ERRORS as error:
        raise decode_error("PersistentVolume", error) from error
    found = {
        key
        for key, value in envelope.spec.items()
        if key not in _NO_SOURCES and bytes(value) != _NULL
    }
    on_node = spec.host_path or spec.local
    claim = spec.claim_ref
    annotated = (envelope.metadata.annotations or {}).get(_OPTIONS, "")
    listed = (*(spec.mount_options or ()), annotated)
    options = " ".join(listed)
    of_blobs = bool(found & _OF_BLOBS)
    return PersistentVolume(
        name=envelope.metadata.name,
        types=tuple(sorted({"hostPath" if key == "local" else key for key in found})),
        path=on_node.path if on_node else "",
        path_type=(on_node.type if on_node else None) or "",
        local=found == {"local"},
        driver=spec.csi.driver if spec.csi else "",
        claim=f"{claim.namespace}/{claim.name}" if claim else "",
        claim_uid=claim.uid if claim else "",
        secrets=tuple(_foreign_secrets(spec.csi, claim)) if spec.csi else (),
        options=tuple(_options(listed)) if options else (),
        shared=is_shared_volume(
            found,
            spec.csi.driver if spec.csi else "",
            spec.access_modes or (),
            spec.volume_mode or "",
        ),
        mounts=find_blob_mounts(envelope.spec, "spec", inline=False, options=options)
        if of_blobs
        else (),
    )


def _foreign_secrets(csi: _Csi, claim: _Reference | None) -> Iterator[tuple[str, str]]:
    for field, reference in (
        ("controllerExpandSecretRef", csi.controller_expand_secret_ref),
        ("controllerPublishSecretRef", csi.controller_publish_secret_ref),
        ("nodeExpandSecretRef", csi.node_expand_secret_ref),
        ("nodePublishSecretRef", csi.node_publish_secret_ref),
        ("nodeStageSecretRef", csi.node_stage_secret_ref),
    ):
        if reference and not (claim and claim.namespace and reference.namespace == claim.namespace):
            yield field, reference.namespace


def _options(listed: Iterable[str]) -> Iterator[str]:
    """Yield each option once, as a mount helper gets them: joined by commas."""
    found = (each.strip() for options in listed for each in options.split(","))
    return (each for each in dict.fromkeys(found) if each and each not in _TAKE_AWAY)
