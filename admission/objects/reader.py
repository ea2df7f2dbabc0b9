"""Reads the object of a request: what of it is judged, for whom, and where rights are asked.

From the cluster it takes only what is in memory: which PersistentVolume a claim is bound to.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec

from admission.model.facts import Facts
from admission.model.judged_object import LeftAlone, Part, Reading
from admission.objects.size_limits import give_way
from admission.objects.workloads import read_unlisted, read_workload
from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS, decode_error, decode_json_as
from core.cluster import Cluster
from core.decision.namespaces import Mode
from core.decision.request import WRITES, DecodedPod, Operation, Phase, Request
from core.decision.requester_notes import profile_annotation
from core.kubernetes.persistent_volumes import PersistentVolume, parse_persistent_volume
from core.kubernetes.pod import Pod, decode_pod
from core.kubernetes.workload_kinds import WORKLOADS, may_carry
from core.people.subject import Subject, service_account_subject
from identity.requester_note_rules import PROFILE_PATH
from identity.subjects import (
    CLAIM_MAKERS,
    VOLUME_BINDERS,
    Controllers,
    is_mirror,
    pod_service_account,
    subjects_of_pod,
)
from policies.projection.connections import CONNECTION_KINDS
from policies.projection.objects import (
    OBJECT_KINDS,
    project_object,
    project_persistent,
    read_settings,
)
from policies.projection.pods import mark_added, project
from policies.projection.rbac import KINDS
from policies.projection.volumes import KnownVolumes
from policies.site.fields import NO_DECLARED_FIELDS, NO_FIELDS, POD, DeclaredFields

SNAPSHOT_KIND: Final = ("snapshot.storage.k8s.io", "VolumeSnapshot")
GROUP_SNAPSHOT_KIND: Final = ("groupsnapshot.storage.k8s.io", "VolumeGroupSnapshot")

UNCHANGED: Final = "the update changes nothing that is judged"
_BINDING: Final = "a volume is bound to a claim"
_JUDGED_BEFORE: Final = "it is made from a template that was judged for its author"

NAMESPACED_KINDS: Final = frozenset(
    {
        ("", "Pod"),
        ("", "PersistentVolumeClaim"),
        SNAPSHOT_KIND,
        GROUP_SNAPSHOT_KIND,
        ("resource.k8s.io", "ResourceClaim"),
        ("resource.k8s.io", "ResourceClaimTemplate"),
        *(kind for kind in KINDS if not kind[1].startswith("Cluster")),
        *(each.group_kind for each in WORKLOADS.values() if each.namespaced),
    }
)
"""Those of them that lie in a namespace."""

_CREDENTIALS: Final[Mapping[tuple[str, str, Operation, str], str]] = {
    ("", "Binding", Operation.CREATE, ""): "Binding",
    ("", "Binding", Operation.CREATE, "binding"): "Binding",
    ("authentication.k8s.io", "TokenRequest", Operation.CREATE, "token"): "TokenRequest",
    ("certificates.k8s.io", "CertificateSigningRequest", Operation.CREATE, ""): (
        "CertificateSigningRequest"
    ),
    ("certificates.k8s.io", "CertificateSigningRequest", Operation.UPDATE, "approval"): (
        "CertificateApproval"
    ),
    ("certificates.k8s.io", "PodCertificateRequest", Operation.CREATE, ""): (
        "PodCertificateRequest"
    ),
    ("", "Secret", Operation.CREATE, ""): "Secret",
    ("", "Secret", Operation.UPDATE, ""): "Secret",
}
"""Group, kind, operation and subresource of what is read, and as what."""

CREATED_CREDENTIALS: Final = frozenset(
    (group, kind)
    for group, kind, operation, subresource in _CREDENTIALS
    if operation is Operation.CREATE and not subresource
)
"""Group and kind of those that are created as objects of their own, as from a file."""


@dataclass(frozen=True)
class ObjectReader:
    """Reads objects of kinds that carry privileges."""

    cluster: Cluster
    controllers: Controllers
    reads: DeclaredFields = NO_DECLARED_FIELDS
    """What a site's rules read of Pods."""

    def judges(self, request: Request) -> bool:
        """Return whether objects of the request's kind are judged."""
        kind = _group_kind(request)
        return kind in JUDGED_KINDS or may_carry(*kind)

    async def read(self, request: Request, facts: Facts) -> Reading | LeftAlone:
        """Read the object, or say why it is left alone.

        Raises:
            InvalidObjectError: the object does not have its kind's shape.
            NotSyncedError: the cluster's volumes are not known.
        """
        if request.submitted is None:
            raise InvalidObjectError(request.kind.kind, "object", "the review holds none")
        kind = _group_kind(request)
        reader = _READERS.get(kind)
        if reader is None:
            # The Pods of a template pass the mutating webhook themselves; a file is judged again
            # as they come out of it (`fill_ids`).
            filled = not request.is_filled or facts.mode is not Mode.ENFORCE
            known = self.known_volumes(request, facts, filled=filled)
            if kind not in WORKLOADS:
                return await read_unlisted(request, known, self.controllers, self.reads)
            return await read_workload(
                WORKLOADS[kind], request, known, self.controllers, self.reads
            )
        try:
            reading = reader(self, request, facts)
        except InvalidObjectError:
            if is_pod_as_before(request):
                return LeftAlone(UNCHANGED)
            raise
        if isinstance(reading, LeftAlone) or not _is_update(request):
            return reading
        before = msgspec.structs.replace(request, submitted=request.old_object, old_object=None)
        await give_way(request)
        old = await self.read(before, facts)
        same = isinstance(old, Reading) and _same(old, reading)
        return LeftAlone(UNCHANGED) if same else reading

    def read_pod(self, request: Request, facts: Facts) -> Reading | LeftAlone:
        """Read a Pod."""
        pod = _pod_of(request.submitted)
        if is_mirror(request.subject, pod):
            return LeftAlone("a node shows a static Pod that it already runs")
        placed = request.running or request.operation is not Operation.CREATE
        known = self.known_volumes(request, facts, filled=_is_yet_to_be_filled(request, facts))
        projection = project(pod, known, placed=placed, weighed=facts.weighs(pod))
        subjects = self._subjects(request, pod, facts.mode)
        if is_debug(request) and request.old_object is not None:
            projection = mark_added(projection, _pod_of(request.old_object))
            subjects = subjects[:1]  # As of whoever enters: of the Pod's account nothing is asked.
        name = profile_annotation(pod.metadata)
        return Reading(
            (Part(projection, fields=self._fields(request)),),
            subjects,
            request.namespace,
            metadata=pod.metadata,
            named=(name, PROFILE_PATH) if name else None,
            uid=pod.metadata.uid or "",
            always=True,
            pods=(pod,),
        )

    def _fields(self, request: Request) -> bytes:
        if not self.reads.reads(POD):
            return NO_FIELDS
        try:
            return self.reads.fields_of(POD, _json(request))
        except DECODE_ERRORS as error:
            raise decode_error("Pod", error) from error

    def known_volumes(
        self, request: Request, facts: Facts, *, filled: bool = False
    ) -> KnownVolumes:
        """Return what is known of the volumes and the IDs of Pods of the request's namespace."""
        place = facts.namespace or request.ids_of
        return KnownVolumes(
            partial(self.claimed, request.namespace),
            partial(self._shares, request.namespace),
            lambda: place.id_ranges if place is not None else None,
            request.namespace,
            filled,
        )

    def _shares(self, namespace: str, name: str, names: str) -> bool:
        """Return whether a claim is a file system that others mount, or may become one."""
        named = self.cluster.volume(names) if names else None
        return named.shared if named else self.cluster.shares_volume(f"{namespace}/{name}")

    def claimed(self, namespace: str, name: str, names: str) -> tuple[PersistentVolume, ...]:
        """Return the volumes of a claim: those on a node that it has, and one that it will name."""
        claim = f"{namespace}/{name}"
        taken = self._taken(claim, names)
        return (*self.cluster.node_volumes_of(claim), *([taken] if taken else ()))

    def _taken(self, claim: str, names: str) -> PersistentVolume | None:
        """Return the volume a claim takes by naming it, or None if it is kept for the claim."""
        volume = self.cluster.volume(names) if names else None
        return volume if volume and volume.claim != claim else None

    def _subjects(self, request: Request, pod: Pod, mode: Mode) -> tuple[Subject, ...]:
        """Return whose rights count.

        Of a Pod that runs, nothing says who made it. A profile noted on one that nothing owns
        was its maker's when the gate admitted it, where the namespace enforces; every other Pod
        stands on its service account (docs/adr/0013).
        """
        if not request.running:
            return subjects_of_pod(request.subject, pod, request.namespace, self.controllers)
        if (
            mode is Mode.ENFORCE
            and profile_annotation(pod.metadata)
            and not pod.metadata.owner_references
        ):
            return ()
        return (pod_service_account(pod, request.namespace),)

    def read_volume(self, request: Request, _: Facts) -> Reading | LeftAlone:
        """Read a PersistentVolume: kept for a claim, its author needs the right there alone.

        A volume that is bound to a claim is given to the claim's namespace: then whoever may
        run there must have the right, whose measure is the namespace's default service account.
        """
        volume = parse_persistent_volume(_json(request))
        namespace = volume.claim.partition("/")[0]
        given = bool(volume.claim) and self._was_free(request, volume)
        binds = request.subject.username in VOLUME_BINDERS
        if binds and not (given and "hostPath" in volume.types):
            return LeftAlone(f"{_BINDING} that may have it" if given else "its controller keeps it")
        subjects: tuple[Subject, ...] = () if binds else (request.subject,)
        if given and "hostPath" in volume.types:
            subjects += (service_account_subject(namespace, "default"),)
        place = "spec.local" if volume.local else "spec"
        projection = project_persistent(volume, place)
        return Reading((Part(projection),), subjects, namespace, claim=volume.claim)

    def _was_free(self, request: Request, volume: PersistentVolume) -> bool:
        if request.operation is not Operation.UPDATE or request.old_object is None:
            return False
        return parse_persistent_volume(request.old_object).claim != volume.claim

    def read_claim(self, request: Request, _: Facts) -> Reading | LeftAlone:
        """Read a PersistentVolumeClaim: one that names a volume not kept for it takes it.

        What a workload's controller makes is judged by the namespace's default service account:
        the controller's own rights never count.
        """
        claim = decode_json_as(_Claim, _json(request), "PersistentVolumeClaim")
        if not claim.spec.volume_name:
            return LeftAlone("it names no volume")
        subject = request.subject
        if subject.username in VOLUME_BINDERS and request.operation is Operation.UPDATE:
            return LeftAlone(f"{_BINDING}: the volume's own update is judged")
        if self.controllers.is_any(subject.username):
            subject = service_account_subject(request.namespace, "default")
        elif subject.username in CLAIM_MAKERS:
            return LeftAlone(_JUDGED_BEFORE)
        volume = self._taken(f"{request.namespace}/{request.name}", claim.spec.volume_name)
        if volume is None:
            return LeftAlone("the volume that it names is kept for it, or is not there")
        projection = project_persistent(volume, "spec.volumeName")
        return Reading((Part(projection),), (subject,), request.namespace)

    def read_snapshot(self, _request: Request, _: Facts) -> Reading | LeftAlone:
        """Leave a snapshot alone: it gives no privilege. What it copies may be model weights."""
        return LeftAlone("a snapshot needs no privilege")

    def read_other(self, request: Request, _: Facts) -> Reading | LeftAlone:
        """Read a class, a driver or a claim for devices."""
        if request.subject.username in CLAIM_MAKERS:
            return LeftAlone(_JUDGED_BEFORE)
        kind, raw = _group_kind(request), _json(request)
        return Reading(
            (Part(project_object(*kind, raw)),),
            (request.subject,),
            request.namespace,
            settings=read_settings(*kind, raw) if request.operation is Operation.UPDATE else b"",
        )


class _ClaimSpec(msgspec.Struct, frozen=True, rename="camel"):
    volume_name: str | None = None


class _Claim(msgspec.Struct):
    spec: _ClaimSpec = _ClaimSpec()


_READERS: Final[
    Mapping[tuple[str, str], Callable[[ObjectReader, Request, Facts], Reading | LeftAlone]]
] = {
    ("", "Pod"): ObjectReader.read_pod,
    ("", "PersistentVolume"): ObjectReader.read_volume,
    ("", "PersistentVolumeClaim"): ObjectReader.read_claim,
    SNAPSHOT_KIND: ObjectReader.read_snapshot,
    GROUP_SNAPSHOT_KIND: ObjectReader.read_snapshot,
    **dict.fromkeys(sorted(OBJECT_KINDS), ObjectReader.read_other),
}

JUDGED_KINDS: Final = frozenset(_READERS) | WORKLOADS.keys()
"""Group and kind of the objects whose privileges are judged."""


def is_debug(request: Request) -> bool:
    """Return whether a request adds a container to a Pod that runs (`kubectl debug`)."""
    return (
        _is_update(request)
        and _group_kind(request) == ("", "Pod")
        and request.subresource == "ephemeralcontainers"
    )


class _Marks(msgspec.Struct, rename="camel"):
    labels: msgspec.Raw = msgspec.Raw()
    annotations: msgspec.Raw = msgspec.Raw()
    owner_references: msgspec.Raw = msgspec.Raw()


class _Whole(msgspec.Struct):
    metadata: _Marks = msgspec.field(default_factory=_Marks)
    spec: msgspec.Raw = msgspec.Raw()


def is_pod_as_before(request: Request) -> bool:
    """Return whether an update leaves all of a Pod that is judged as it was, to the byte.

    One that is broken, or larger than is judged now, may so lose its finalizers and end.
    """
    if not _is_update(request) or _group_kind(request) != ("", "Pod"):
        return False
    try:
        new, old = (msgspec.json.decode(each or b"", type=_Whole) for each in _both(request))
    except DECODE_ERRORS:
        return False
    same = bytes(new.spec) == bytes(old.spec)
    names = _Marks.__struct_fields__
    return same and all(
        bytes(getattr(new.metadata, name)) == bytes(getattr(old.metadata, name)) for name in names
    )


def _both(request: Request) -> tuple[msgspec.Raw | None, msgspec.Raw | None]:
    return request.object, request.old_object


def _is_update(request: Request) -> bool:
    return request.operation is Operation.UPDATE and request.old_object is not None


def _same(old: Reading, new: Reading) -> bool:
    """Return whether nothing that is judged differs.

    Who asks for an update does not matter then.
    """
    return (
        (old.namespace, old.claim, old.settings) == (new.namespace, new.claim, new.settings)
        and old.named == new.named
        and old.parts == new.parts
    )


def _is_yet_to_be_filled(request: Request, facts: Facts) -> bool:
    """Return whether the mutating webhook has not filled in a Pod's defaults yet.

    Where nothing is enforced it fills in nothing; what enforcing would do is judged as if it did.
    A Pod of a file is judged so first, and then as its profile fills it in (`fill_ids`).
    """
    if request.phase is Phase.MUTATING or facts.mode is not Mode.ENFORCE:
        return True
    return request.phase is None and not request.running and not request.is_filled


def _group_kind(request: Request) -> tuple[str, str]:
    return request.kind.group, request.kind.kind


def _json(request: Request) -> msgspec.Raw:
    return request.object or msgspec.Raw()


def _pod_of(submitted: msgspec.Raw | DecodedPod | None) -> Pod:
    pod = submitted.pod if isinstance(submitted, DecodedPod) else decode_pod(submitted or b"")
    if not pod.spec.containers:
        raise InvalidObjectError("Pod", "spec.containers", "must hold at least one container")
    return pod


def is_connect_or_credential(request: Request) -> bool:
    """Return whether a request enters what runs, or makes a credential."""
    if request.operation is Operation.CONNECT:
        return not request.kind.group and request.kind.kind in CONNECTION_KINDS
    return credential_of(request) is not None


def credential_of(request: Request) -> str | None:
    """Return as what a credential is read that the request makes; None where it makes none."""
    kind = request.kind
    return _CREDENTIALS.get((kind.group, kind.kind, request.operation, request.subresource))


def changes_rights(request: Request) -> bool:
    """Return whether a request changes rights."""
    return request.operation in WRITES and (request.kind.group, request.kind.kind) in KINDS
