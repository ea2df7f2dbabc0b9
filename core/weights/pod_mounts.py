"""What a Pod mounts of Azure Storage: volumes, its claims' volumes, fuse sidecars. Pure.

What a volume says is certain. What a container says in its command, arguments or environment only
hints: a program may do otherwise, so records show it and nothing is decided by it.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from core.base.json_errors import DECODE_ERRORS, decode_json_as
from core.kubernetes.blob_volumes import BlobMount, account_of_host, find_blob_mounts, host_of
from core.kubernetes.persistent_volumes import PersistentVolume
from core.kubernetes.pod import Container, Pod

ClaimedVolumes = Callable[[str, str], Iterable[PersistentVolume]]
"""Gives the volumes that a claim amounts to, by its name and, for one that is yet to be made, the
volume that it will name (or nothing)."""

_CLAIMS: Final = frozenset({"persistentVolumeClaim", "ephemeral"})
_SOURCES: Final = frozenset({"csi", "flexVolume", "nfs"})
_FUSE: Final = "blobfuse"
_ACCOUNT: Final = "AZURE_STORAGE_ACCOUNT"
_CONTAINER: Final = "AZURE_STORAGE_ACCOUNT_CONTAINER"
_ENDPOINT: Final = "AZURE_STORAGE_BLOB_ENDPOINT"
_KEYS: Final = frozenset({"AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_SAS_TOKEN"})
_CLIENT: Final = "AZURE_STORAGE_SPN_CLIENT_ID"
_IDENTITY: Final = "AZURE_STORAGE_IDENTITY_CLIENT_ID"
_VARIABLES: Final = frozenset({_ACCOUNT, _CONTAINER, _ENDPOINT})

_ABSENT: Final = msgspec.Raw(b"null")
_EMPTY: Final = msgspec.Raw(b'""')


class _ClaimSource(msgspec.Struct, rename="camel"):
    claim_name: str = ""
    read_only: bool | None = None


class _ClaimSpec(msgspec.Struct, frozen=True, rename="camel"):
    volume_name: str | None = None


class _ClaimTemplate(msgspec.Struct, frozen=True):
    spec: _ClaimSpec = _ClaimSpec()


class _EphemeralSource(msgspec.Struct, rename="camel"):
    volume_claim_template: _ClaimTemplate | None = None


def find_mounts(pod: Pod, claimed: ClaimedVolumes) -> tuple[BlobMount, ...]:
    """Return all that a Pod mounts of Azure Storage, what is certain first.

    Raises:
        InvalidObjectError: a volume does not have its shape; names the field.
    """
    return (*volume_mounts(pod, claimed), *hinted_mounts(pod))


def volume_mounts(pod: Pod, claimed: ClaimedVolumes) -> tuple[BlobMount, ...]:
    """Return what its volumes show, and those that its claims are bound to or kept for.

    Raises:
        InvalidObjectError: as `find_mounts`.
    """
    found: list[BlobMount] = []
    for index, volume in enumerate(pod.spec.volumes or ()):
        kinds = volume.keys()
        if not _SOURCES.isdisjoint(kinds):
            found += find_blob_mounts(volume, f"spec.volumes[{index}]", inline=True)
        if not _CLAIMS.isdisjoint(kinds):
            found += _of_claim(pod, volume, f"spec.volumes[{index}]", claimed)
    return tuple(found)


def hinted_mounts(pod: Pod) -> tuple[BlobMount, ...]:
    """Return what its containers seem to mount by themselves."""
    spec = pod.spec
    return tuple(
        mount
        for place, containers in (
            ("spec.containers", spec.containers),
            ("spec.initContainers", spec.init_containers),
            ("spec.ephemeralContainers", spec.ephemeral_containers),
        )
        for index, container in enumerate(containers or ())
        for mount in _of_container(container, f"{place}[{index}]")
    )


def _of_claim(
    pod: Pod, volume: dict[str, msgspec.Raw], place: str, claimed: ClaimedVolumes
) -> Iterator[BlobMount]:
    read_only = False
    if volume.get("ephemeral", _ABSENT) != _ABSENT:
        path = f"{place}.ephemeral.volumeClaimTemplate"
        template = decode_json_as(
            _EphemeralSource, volume["ephemeral"], "Pod", f"{place}.ephemeral"
        )
        named = template.volume_claim_template
        name = decode_json_as(str, volume.get("name", _EMPTY), "Pod", f"{place}.name")
        volumes = claimed(
            f"{pod.metadata.name or ''}-{name}", (named.spec.volume_name if named else None) or ""
        )
    elif volume.get("persistentVolumeClaim", _ABSENT) != _ABSENT:
        path = f"{place}.persistentVolumeClaim"
        source = decode_json_as(_ClaimSource, volume["persistentVolumeClaim"], "Pod", path)
        read_only = bool(source.read_only)
        volumes = claimed(source.claim_name, "")
    else:
        return
    for each in volumes:
        for mount in each.mounts:
            only = read_only or mount.read_only
            yield msgspec.structs.replace(mount, read_only=only, path=path)


def _of_container(container: Container, place: str) -> Iterator[BlobMount]:
    said = {each.name: each.value or "" for each in container.env or () if each.value}
    words = _words(container)
    fuse = _FUSE in (container.image or "").lower() or any(_FUSE in each for each in words)
    if not fuse and _VARIABLES.isdisjoint(said):
        return
    host = host_of(said.get(_ENDPOINT, ""))
    account = said.get(_ACCOUNT, "").lower() or account_of_host(host)
    held = said.get(_CONTAINER, "").lower() or _option(words, "--container-name")
    if not (account or held):
        return
    named = {each.name for each in container.env or ()}
    yield BlobMount(
        account=account,
        container=held,
        server=host,
        key=not _KEYS.isdisjoint(named),
        client_id=(said.get(_IDENTITY) or said.get(_CLIENT, "")).lower(),
        certain=False,
        path=place,
    )


def _words(container: Container) -> list[str]:
    """Return the words of its command and arguments, in lower case; of another shape, none."""
    found: list[str] = []
    for raw in (container.command, container.args):
        try:
            for each in msgspec.json.decode(raw, type=list[str] | None) or () if raw else ():
                found += each.lower().split()
        except DECODE_ERRORS:
            continue
    return found


def _option(words: list[str], name: str) -> str:
    for index, word in enumerate(words):
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
        if word == name and index + 1 < len(words):
            return words[index + 1]
    return ""
