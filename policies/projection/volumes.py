"""Volumes, as policies see them: a claim as what it is bound to, projected ones as credentials."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS, decode_json_as
from core.decision.id_ranges import IdRanges
from core.kubernetes import pod as k8s
from core.kubernetes.persistent_volumes import PersistentVolume
from core.kubernetes.shared_volumes import SHARED_TYPES, is_shared_source
from policies.projection.images import origin
from policies.projection.model import (
    MAX_IMAGE,
    MAX_PATH,
    Certificate,
    Csi,
    HostPath,
    Image,
    Token,
    Volume,
    VolumeSecret,
    bound,
    check_length,
)

_LONGEST_REMEMBERED: Final = 1024
"""Bytes of a volume that is remembered: what each Pod is given has about 300."""

_MOST_REMEMBERED: Final = 1024

HARMLESS_VOLUMES: Final = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)
"""Volume types that every Pod Security level allows (check_restrictedVolumes.go, 1.36)."""

_CLAIMS: Final = ("persistentVolumeClaim", "ephemeral")

_SILENT: Final = HARMLESS_VOLUMES - {"csi", "image", "projected", *_CLAIMS}

WRITING_TYPES: Final = frozenset(
    {"DirectoryOrCreate", "FileOrCreate", "Socket", "CharDevice", "BlockDevice"}
)
"""hostPath types that no read-only mount makes harmless: they create, or take what is sent to
them (a socket can be connected to, a device written to, through a read-only mount)."""

_NULL: Final = b"null"

ClaimLookup = Callable[[str, str], Iterable[PersistentVolume]]
"""Gives the volumes that a claim amounts to, by its name and, for one that is yet to be made, the
volume that it will name (or nothing)."""

_SHARABLE: Final = frozenset({"csi", *_CLAIMS, *SHARED_TYPES})


def no_claims(_claim: str, _volume: str) -> Iterable[PersistentVolume]:
    """Know of no claim."""
    return ()


def _shares_nothing(_claim: str, _volume: str) -> bool:
    return False


def _no_ranges() -> IdRanges | None:
    return None


@dataclass(frozen=True, slots=True)
class KnownVolumes:
    """What is known besides a Pod of the volumes that it mounts, and of its namespace."""

    of_claim: ClaimLookup = no_claims
    shares: Callable[[str, str], bool] = _shares_nothing
    """Says of a claim, asked for as in `of_claim`, whether it is a file system that others mount
    too, or may become one."""
    ranges: Callable[[], IdRanges | None] = _no_ranges
    """Gives the IDs of the namespace; it may raise NamespaceMarkError."""
    namespace: str = ""
    """Its name."""
    filled: bool = False
    """Whether what a Pod leaves out is yet to be filled in from them."""


NOTHING_KNOWN: Final = KnownVolumes()


class _TokenSource(msgspec.Struct):
    audience: str | None = None


class _CertificateSource(msgspec.Struct, rename="camel"):
    signer_name: str = ""


class _Projected(msgspec.Struct, rename="camel"):
    service_account_token: _TokenSource | None = None
    pod_certificate: _CertificateSource | None = None


class ProjectedVolume(msgspec.Struct):
    """What is read of a volume's `projected`."""

    sources: list[_Projected] | None = None


class _HostPathSource(msgspec.Struct):
    path: str = ""
    type: str | None = None


class _ClaimSource(msgspec.Struct, rename="camel"):
    claim_name: str = ""
    read_only: bool | None = None


class _ClaimSpec(msgspec.Struct, frozen=True, rename="camel"):
    volume_name: str | None = None


class _ClaimTemplate(msgspec.Struct):
    spec: _ClaimSpec = _ClaimSpec()


class _EphemeralSource(msgspec.Struct, rename="camel"):
    volume_claim_template: _ClaimTemplate | None = None


class _ImageSource(msgspec.Struct):
    reference: str = ""


def shared_names(volumes: list[dict[str, msgspec.Raw]], pod: str, known: KnownVolumes) -> set[str]:
    """Return the names of the volumes that are file systems which others mount too, or may be.

    `pod` is the Pod's name, of which the claims of ephemeral volumes have theirs.

    Raises:
        InvalidObjectError: one has the wrong shape; names the field.
    """
    found = set()
    for index, volume in enumerate(volumes):
        for source in _SHARABLE.intersection(volume):
            raw, path = volume[source], f"spec.volumes[{index}]"
            if bytes(raw) == _NULL:
                continue
            name = decode_json_as(str, volume.get("name", b'""'), "Pod", f"{path}.name")
            if _is_shared(source, raw, f"{path}.{source}", f"{pod}-{name}", known):
                found.add(name)
    return found


def _is_shared(source: str, raw: msgspec.Raw, path: str, claim: str, known: KnownVolumes) -> bool:
    """Say it of one source; `claim` is the one that is made for an ephemeral volume."""
    if source == "csi":
        return is_shared_source(source, decode_json_as(Csi, raw, "Pod", path).driver)
    if source == "persistentVolumeClaim":
        return known.shares(decode_json_as(_ClaimSource, raw, "Pod", path).claim_name, "")
    if source == "ephemeral":
        template = decode_json_as(_EphemeralSource, raw, "Pod", path).volume_claim_template
        return known.shares(claim, (template.spec.volume_name if template else None) or "")
    return is_shared_source(source)


def project_volumes(of: k8s.Pod, claimed: ClaimLookup) -> Iterator[Volume]:
    """Yield the volumes of a Pod that some rule looks at.

    Raises:
        InvalidObjectError: one has the wrong shape; names the field.
    """
    pod = _Surroundings(of)
    for index, volume in enumerate(of.spec.volumes or ()):
        place = f"spec.volumes[{index}]"
        bound(len(volume), place)
        types = [key for key, value in volume.items() if key != "name" and bytes(value) != _NULL]
        if _SILENT.issuperset(types):
            continue
        if types == ["projected"] and is_ordinary(volume["projected"], no_token=pod.no_token):
            continue
        name = decode_json_as(str, volume.get("name", b'""'), "Pod", f"{place}.name")
        if len(types) == 1 and types[0] in _CLAIMS:
            yield from _bound(volume[types[0]], types[0], place, name, pod, claimed)
            continue
        found = _volume(volume, types, place, name, pod)
        if types != ["projected"] or found.tokens or found.certificates:
            yield found


def of_persistent(volume: PersistentVolume, path: str, *, read_only: bool) -> Volume:
    """Return a PersistentVolume as the volume of a Pod that it amounts to.

    Raises:
        InvalidObjectError: its path is longer than any.
    """
    on_node = None
    if "hostPath" in volume.types:
        _check_path(volume.path, path)
        on_node = HostPath(volume.path, read_only and volume.path_type not in WRITING_TYPES)
    csi = Csi(volume.driver) if "csi" in volume.types else None
    bound(len(volume.options), "spec.mountOptions", "PersistentVolume")
    return Volume(
        path,
        list(volume.types),
        on_node,
        csi,
        secrets=[
            VolumeSecret(f"{path}.csi.{field}" if path == "spec" else path, namespace)
            for field, namespace in volume.secrets
        ],
        options=list(volume.options),
    )


class _Surroundings:
    """What the rest of a Pod says of its volumes; looked at only when somebody asks."""

    def __init__(self, pod: k8s.Pod) -> None:
        self.name = pod.metadata.name or ""
        self._spec = pod.spec
        self._known: tuple[set[str], set[str]] | None = None

    @property
    def no_token(self) -> bool:
        """Whether the Pod says that it wants no token: then one for the API server is its own."""
        return self._spec.automount_service_account_token is False

    def only_read(self, name: str) -> bool:
        """Return whether a volume is mounted, and nowhere writably."""
        mounted, writable = self._known = self._known or _writable(self._spec)
        return name in mounted and name not in writable


def _bound(  # noqa: PLR0913, PLR0917  One thing each of where it stands.
    raw: msgspec.Raw, kind: str, place: str, name: str, pod: _Surroundings, claimed: ClaimLookup
) -> Iterator[Volume]:
    """Yield what a claim has, or what the claim will have that is made for an ephemeral volume.

    The name of such a claim: kubernetes/staging component-helpers/storage/ephemeral.
    """
    path = f"{place}.{kind}"
    read_only = False
    if kind == "ephemeral":
        template = decode_json_as(_EphemeralSource, raw, "Pod", path).volume_claim_template
        named = (template.spec.volume_name if template else None) or ""
        volumes = claimed(f"{pod.name}-{name}", named)
        path += ".volumeClaimTemplate"
    else:
        source = decode_json_as(_ClaimSource, raw, "Pod", path)
        volumes = claimed(source.claim_name, "")
        read_only = bool(source.read_only)
    for volume in volumes:
        yield of_persistent(volume, path, read_only=read_only or pod.only_read(name))


def _volume(
    volume: dict[str, msgspec.Raw], types: list[str], place: str, name: str, pod: _Surroundings
) -> Volume:
    host_path = csi = image = None
    tokens: list[Token] = []
    certificates: list[Certificate] = []
    if "hostPath" in types:
        path = decode_json_as(_HostPathSource, volume["hostPath"], "Pod", f"{place}.hostPath")
        _check_path(path.path, f"{place}.hostPath.path")
        host_path = HostPath(path.path, pod.only_read(name) and path.type not in WRITING_TYPES)
    if "csi" in types:
        csi = decode_json_as(Csi, volume["csi"], "Pod", f"{place}.csi")
    if "image" in types:
        source = decode_json_as(_ImageSource, volume["image"], "Pod", f"{place}.image")
        check_length(source.reference, f"{place}.image.reference", most=MAX_IMAGE)
        comes = origin(source.reference)
        image = Image(source.reference, comes.source, comes.pinned, comes.public)
    if "projected" in types:
        projected = decode_json_as(
            ProjectedVolume, volume["projected"], "Pod", f"{place}.projected"
        )
        tokens, certificates = credentials_of(
            projected, f"{place}.projected", every_token=pod.no_token
        )
    return Volume(place, types, host_path, csi, image, tokens, certificates)


def _check_path(path: str, field: str) -> None:
    if len(path) > MAX_PATH:
        problem = f"is longer than any path, {MAX_PATH} characters"
        raise InvalidObjectError("Pod", field, problem)


def _writable(spec: k8s.PodSpec) -> tuple[set[str], set[str]]:
    """Return the names of the volumes that are mounted, and of those mounted writably."""
    mounted: set[str] = set()
    writable: set[str] = set()
    for containers in (spec.containers, spec.init_containers, spec.ephemeral_containers):
        for container in containers or ():
            for mount in container.volume_mounts or ():
                mounted.add(mount.name)
                if not mount.read_only:
                    writable.add(mount.name)
    return mounted, writable


def is_ordinary(raw: msgspec.Raw, *, no_token: bool) -> bool:
    """Return whether a projected volume is what each Pod is given to reach the API server with.

    They are the same but for the name of the volume.
    """
    return not no_token and len(raw) <= _LONGEST_REMEMBERED and _holds_nothing(bytes(raw))


@lru_cache(_MOST_REMEMBERED)
def _holds_nothing(projected: bytes) -> bool:
    try:
        source = msgspec.json.decode(projected, type=ProjectedVolume)
        return credentials_of(source, "", every_token=False) == ([], [])
    except (*DECODE_ERRORS, InvalidObjectError):
        return False  # Whoever reads it to its end says what is wrong, and where.


def credentials_of(
    projected: ProjectedVolume, place: str, *, every_token: bool
) -> tuple[list[Token], list[Certificate]]:
    """Return the credentials of a volume that lies at `place`, but for the token of every Pod's.

    With `every_token` that one too: the Pod says that it wants none, so it is its own.

    Raises:
        InvalidObjectError: there are more than any real Pod has.
    """
    tokens, certificates = [], []
    for index, source in enumerate(projected.sources or ()):
        path = f"{place}.sources[{index}]"
        token = source.service_account_token
        if token and (token.audience or every_token):
            tokens.append(Token(f"{path}.serviceAccountToken.audience", token.audience or ""))
        if source.pod_certificate:
            field = f"{path}.podCertificate.signerName"
            certificates.append(Certificate(field, source.pod_certificate.signer_name))
    bound(len(tokens) + len(certificates), f"{place}.sources")
    return tokens, certificates
