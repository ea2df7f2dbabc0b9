"""Documents that an event of a Pod makes, by what was recorded and what the Pod shows.

A Pod shows as whom it signs in and which blobs it mounts.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from control.weights.pod_lifecycle.live_pods import (
    ENDED_POD,
    LivePods,
    PodNode,
    PodWorkload,
    TrackedPod,
)
from core.base.errors import InvalidObjectError
from core.base.ids import stable_id
from core.base.times import milli_text
from core.cluster import AccountSignIn
from core.kubernetes.persistent_volumes import PersistentVolume
from core.kubernetes.pod import Pod, decode_pod
from core.kubernetes.spec_digest import spec_digest
from core.weights.documents.pod_life import FORMAT, LifeEvent, PodLife
from core.weights.pod_mounts import find_mounts
from identity.risk.workload_identity import client_ids_of
from kube.weights.pod_lifecycle import PodLifecycle

AGAIN_S: Final = 7 * 86_400
"""So often each Pod that lives is told again: whoever wants all that lived at a time reads the
documents of so long before it, and retention never forgets one that lives on."""

_NOTHING: Final[tuple[PodLife, ...]] = ()

_HINTS: Final = (b"azure", b"blob", b"persistentvolumeclaim", b"volumeclaimtemplate", b'"nfs"')
"""Of a Pod's JSON in lower case: one without any signs in as nobody and mounts no blobs. Labels,
audiences and variables of sign-ins, accounts and drivers all have the first."""

SignInOf = Callable[[str, str], AccountSignIn | None]
"""Gives as whom a service account signs in, by namespace and name."""
ClaimedBy = Callable[[str], tuple[PersistentVolume, ...]]
"""Gives the volumes of a claim, `namespace/name`."""
VolumeByName = Callable[[str], PersistentVolume | None]


@dataclass(frozen=True)
class PodDocuments:
    """What comes of an event."""

    documents: tuple[PodLife, ...]
    kept: TrackedPod | None
    """What is remembered from now on, once the documents are recorded; None for nothing."""


@dataclass(frozen=True)
class PodSigns:
    """What else a Pod shows: as whom it can sign in, and which blobs it mounts."""

    client_ids: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    digest: str = ""
    """Of the `spec` of a Pod on which its requester is noted, as long as it is as created."""


@dataclass(frozen=True)
class PodDocumentBuilder:
    """Makes the documents of one cluster."""

    cluster: str
    living: LivePods

    def remember(self, pod: PodLifecycle, signs: PodSigns) -> TrackedPod:
        """Return what is remembered of a Pod, whether it has finished or not."""
        place = PodWorkload(
            pod.namespace, pod.service_account, pod.owner, signs.client_ids, signs.volumes
        )
        host = PodNode(pod.node, pod.node_addresses, pod.host_network)
        share = self.living.share
        addresses = ",".join(pod.addresses)
        return TrackedPod(pod.name, share(place), share(host), addresses, pod.began or pod.made)

    def tell(self, pod: PodLifecycle, signs: PodSigns, *, gone: bool, now: float) -> PodDocuments:
        """Return what is new of a Pod.

        `gone` says that it is there no more. `now`: Unix seconds.
        """
        before = self.living.get(pod.uid)
        if before is ENDED_POD:
            return PodDocuments(_NOTHING, None if gone else ENDED_POD)
        kept = _joined(self.remember(pod, signs), before, self.living)
        found = list(self._new(pod, kept, before, now))
        if before is None:
            note = {"requester": pod.requester, "digest": signs.digest}
            found[0] = msgspec.structs.replace(found[0], **note)
        if not (gone or pod.finished):
            return PodDocuments(tuple(found), kept)
        found.append(self._end(pod, kept, now))
        return PodDocuments(tuple(found), None if gone else ENDED_POD)

    def vanished(self, uid: str, kept: TrackedPod, now: float) -> PodLife:
        """Return the end of a Pod that nobody saw: it lies before now."""
        return self._life(uid, kept, LifeEvent.ENDED, now, ended=now, sure=False)

    def again(self, since: float, now: float) -> Iterable[PodLife]:
        """Yield the Pods whose turn it is to be told again, at a time that their UID sets."""
        for uid, kept in self.living.items():
            turn = now - (now - int(uid[:8], 16) % AGAIN_S) % AGAIN_S
            if turn > since and turn > kept.began:
                yield self._life(uid, kept, LifeEvent.SEEN, turn)

    def _new(
        self, pod: PodLifecycle, kept: TrackedPod, before: TrackedPod | None, now: float
    ) -> Iterable[PodLife]:
        if before is None:
            yield self._life(pod.uid, kept, LifeEvent.SEEN, pod.made)
        if kept.is_addressed and (before is None or not before.is_addressed):
            yield self._life(pod.uid, kept, LifeEvent.ADDRESSED, pod.began or pod.made)
        elif before is not None and kept.is_addressed and _says(kept) != _says(before):
            yield self._life(pod.uid, kept, LifeEvent.ADDRESSED, now)
        elif before is not None and kept.place != before.place:
            yield self._life(pod.uid, kept, LifeEvent.SEEN, now)

    def _end(self, pod: PodLifecycle, kept: TrackedPod, now: float) -> PodLife:
        """Tell its end: sure where its containers are known to have stopped, or it never ran."""
        if pod.stopped:
            return self._life(pod.uid, kept, LifeEvent.ENDED, pod.stopped, ended=pod.stopped)
        sure = not pod.node
        return self._life(pod.uid, kept, LifeEvent.ENDED, now, ended=now, sure=sure)

    def _life(  # noqa: PLR0913  What a document says.
        self,
        uid: str,
        kept: TrackedPod,
        event: LifeEvent,
        at: float,
        *,
        ended: float = 0.0,
        sure: bool = True,
    ) -> PodLife:
        ms, place, host = round(at * 1000), kept.place, kept.host
        return PodLife(
            format=FORMAT,
            id=stable_id(ms, "pod-life", self.cluster, uid, event.value),
            time=milli_text(ms),
            cluster=self.cluster,
            event=event,
            uid=uid,
            namespace=place.namespace,
            name=kept.name,
            service_account=place.service_account,
            node=host.node,
            host_network=host.host_network,
            addresses=kept.addresses.split(",") if kept.addresses else [],
            node_addresses=list(host.addresses),
            began=milli_text(round(kept.began * 1000)),
            ended=milli_text(round(ended * 1000)) if ended else "",
            sure=sure,
            client_ids=list(place.client_ids),
            volumes=list(place.volumes),
            owner=place.owner,
        )


def _says(kept: TrackedPod) -> tuple[object, ...]:
    """Return what is told anew when it changes: not when it began, which moves at most once."""
    return kept.place, kept.host, kept.addresses


def _joined(kept: TrackedPod, before: TrackedPod | None, living: LivePods) -> TrackedPod:
    """Let nothing be forgotten that a Pod has had: addresses, client ids, volumes, its node."""
    if before is None or _says(kept) == _says(before):
        return kept
    was, place = before.place, kept.place
    place = PodWorkload(
        place.namespace,
        place.service_account,
        place.owner or was.owner,
        _union(was.client_ids, place.client_ids),
        _union(was.volumes, place.volumes),
    )
    host = kept.host if kept.host.node else before.host
    if not host.addresses:
        host = PodNode(host.node, before.host.addresses, host.host_network)
    addresses = ",".join(_union(_split(before.addresses), _split(kept.addresses)))
    return TrackedPod(kept.name, living.share(place), living.share(host), addresses, kept.began)


def _split(addresses: str) -> tuple[str, ...]:
    return tuple(each for each in addresses.split(",") if each)


def _union(had: tuple[str, ...], has: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*had, *has]))


_NONE: Final = PodSigns()


@dataclass(frozen=True)
class PodSignReader:
    """Reads them, by what is known of the cluster from memory."""

    sign_in: SignInOf
    claimed: ClaimedBy
    named: VolumeByName

    def __call__(self, pod: PodLifecycle, raw: msgspec.Raw) -> PodSigns:
        """Return the signs of a Pod.

        Raises:
            NotSyncedError: service accounts or volumes have not been loaded.
        """
        digest = spec_digest(raw) if pod.requester and pod.as_created else ""
        text = bytes(raw).lower()
        if not any(each in text for each in _HINTS):
            return PodSigns(digest=digest) if digest else _NONE
        try:
            whole = decode_pod(raw)
            places = self._places(whole, pod.namespace)
        except InvalidObjectError:
            return PodSigns(digest=digest)
        said = self.sign_in(pod.namespace, pod.service_account) or AccountSignIn()
        found = client_ids_of(whole, said.client_id, said.tenant)
        client_ids = sorted({each.client_id for each in found if each.client_id})
        return PodSigns(tuple(client_ids), places, digest)

    def _places(self, pod: Pod, namespace: str) -> tuple[str, ...]:
        def claimed(claim: str, volume: str) -> list[PersistentVolume]:
            named = self.named(volume) if volume else None
            return [*self.claimed(f"{namespace}/{claim}"), *([named] if named else [])]

        return tuple(sorted({each.place for each in find_mounts(pod, claimed)}))
