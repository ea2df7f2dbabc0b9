"""What the ledger knows that attribution rests on, put together as its documents come."""

import itertools
import math
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

import msgspec

from audit.access.attribution.admissions import (
    MOST_OF_A_POD,
    Admission,
    Admissions,
    PodDecision,
    images_of,
    merge_admissions,
    read_admitted,
)
from audit.access.attribution.creation_times import is_of_creation, label_of
from audit.access.attribution.gaps import RecordGaps
from audit.access.attribution.identities import KINDS, Identities
from audit.access.attribution.lives import Life, life_of, merge_lives, unix_seconds
from audit.access.attribution.pods import Pods
from audit.access.attribution.roll_calls import RollCalls
from audit.access.model.defaults import MOST_PODS
from audit.ledger.records.frames import FrameKind
from core.weights.documents.access import AccessedBy
from core.weights.documents.events import decode_gap
from core.weights.documents.object_change import decode_change
from core.weights.documents.pod_life import decode_life
from core.weights.documents.roll_calls import KIND as ROLL_CALL

FORMAT: Final = 2
"""Of what `saved` gives."""

MOST_NAMELESS: Final = 10_000
"""Pods that wait for who their service account names: more than one delivery brings."""

MOST_GONE: Final = 50_000
"""Pods of which it is remembered that they have ended and were forgotten: about 8 MB."""

MOST_ADMITTED: Final = 4096
"""Pods whose admission is kept as it was worked out."""

ADMITTED_S: Final = 60.0
"""The longest time from the beginning of a Pod to the decision on it, by clocks that differ, where
its creation is not known: it may have waited for a node for long."""

NOTHING: Final = Admission()


class PodAdmission(NamedTuple):
    """What let a Pod in."""

    life: Life
    decisions: Sequence[PodDecision]
    """The different ones that can have, the earliest first: see `Histories.admission`."""
    against: Sequence[PodDecision]
    """Those of its creation that the Pod itself contradicts."""
    shown: AccessedBy
    """The Pod as an access shows it: what its decisions differ in says nothing."""


class Histories:
    """Pods, identities, decisions and gaps: those of a time, which `forget` moves on.

    Kept are Pods that can sign in as someone or mount blobs: the others cannot reach weights by an
    identity of their own. Documents may come in any order, and again.
    """

    def __init__(self, most_pods: int = MOST_PODS) -> None:
        self.pods = Pods(most_pods)
        self.identities = Identities()
        self.admissions = Admissions()
        self.gaps = RecordGaps()
        self.calls = RollCalls()
        self.forgotten_s = -math.inf
        """Unix seconds: Pods that ended before are forgotten."""
        self._nameless: dict[str, Life] = {}
        """By UID: the last Pods that sign in as nobody, as far as is known: who their service
        account names may come after them."""
        self._gone: dict[str, None] = {}
        """UIDs that were forgotten last: what comes of them now comes after their end."""
        self._admitted: dict[str, PodAdmission] = {}
        """By UID, until anything is taken in or forgotten: a Pod reads many times in a batch."""

    def take(self, kind: int, payload: bytes, projection: bytes | None = None) -> None:
        """Take in a document of the ledger; of kinds that say nothing here, nothing.

        `projection` is that of a decision, where the ledger has it.

        Raises:
            ValueError: it cannot be read.
        """
        self._admitted.clear()
        if kind == FrameKind.POD_LIFE:
            life = self.calls.answered(life_of(decode_life(payload)))
            self.gaps.begin(life.noted)
            self._take_life(life)
        elif kind == FrameKind.DECISION:
            self._take_decision(payload, projection)
        elif kind == FrameKind.CHANGE:
            change = decode_change(payload)
            if change.kind in KINDS:
                account = self.identities.take(change, unix_seconds(change.time))
                if self.identities.names_anybody(account):
                    self._call(account)
            elif change.kind == "WeightStore":
                self._pair(change.spec)
            elif change.kind == ROLL_CALL and self.calls.take(change):
                for life in self.calls.silent([*self.pods, *self._nameless.values()]):
                    self._take_life(life)
        elif kind == FrameKind.LOG_GAP:
            self.gaps.take(decode_gap(payload))

    def forget(self, before_s: float) -> None:
        """Forget Pods and gaps that ended before a time."""
        self._admitted.clear()
        self.forgotten_s = max(self.forgotten_s, before_s)
        for uid in self.pods.forget(before_s):
            self.admissions.drop(uid)
            self._gone[uid] = None
        for uid in list(itertools.islice(self._gone, max(0, len(self._gone) - MOST_GONE))):
            del self._gone[uid]
        self.gaps.forget(before_s)

    def admission(self, life: Life) -> PodAdmission:
        """Return the different decisions that can have admitted a Pod, and how accesses show it.

        A decision that was taken at another time than the Pod was created is none: somebody copied
        the Pod's UID, or dated the decision back. Nor is one that the Pod contradicts. Of several
        those count that have the requester whom the gate noted on the Pod and the digest of its
        `spec`, where `control` has seen both. Without a decision, or where there were too many,
        there is one that says nothing.
        """
        known = self._admitted.get(life.uid)
        if known is None or known.life is not life:
            known = _admission_of(life, self.admissions.of(life.uid))
            if len(self._admitted) >= MOST_ADMITTED:
                self._admitted.clear()
            self._admitted[life.uid] = known
        return known

    def saved(self) -> bytes:
        """Return all of it as MessagePack, as of now."""
        return msgspec.msgpack.encode(
            {
                "format": FORMAT,
                "lives": list(self.pods),
                "lost": self.pods.lost,
                "identities": self.identities.saved(),
                "admissions": self.admissions.saved(),
                "gaps": self.gaps.saved(),
                "calls": self.calls.saved(),
                "nameless": list(self._nameless.values()),
                "gone": list(self._gone),
                "forgotten": self.forgotten_s,
            }
        )

    def restore(self, content: bytes) -> None:
        """Take back what `saved` gave, into one that knows nothing yet.

        Raises:
            ValueError: it is of another format, or none.
        """
        stored: dict[str, Any] = msgspec.msgpack.decode(content)
        if stored.get("format") != FORMAT:
            message = f"histories of format {stored.get('format')}: this release reads {FORMAT}"
            raise ValueError(message)
        for life in stored["lives"]:
            self.pods.add(msgspec.convert(life, Life))
        self.pods.lost = stored["lost"]
        self.identities.restore(stored["identities"])
        self.admissions.restore(stored["admissions"])
        self.gaps.restore(stored["gaps"])
        self.calls.restore(stored["calls"])
        for life in stored["nameless"]:
            self._wait(msgspec.convert(life, Life))
        self._gone = dict.fromkeys(stored["gone"])
        self.forgotten_s = stored["forgotten"]

    def _take_life(self, life: Life) -> None:
        if life.uid in self._gone and life.ended == math.inf:
            return
        known = self.pods.get(life.uid)
        named = self.identities.names_anybody(life.service_account)
        if known or life.clients or life.volumes or named:
            life = merge_lives(self._nameless.pop(life.uid, None), life)
            for uid in self.pods.add(life):
                self.admissions.drop(uid)
            self.admissions.keep(life.uid)
        else:
            self._wait(life)

    def _wait(self, life: Life) -> None:
        """Let a Pod wait that signs in as nobody, as far as is known; the oldest makes room."""
        self._nameless[life.uid] = merge_lives(self._nameless.pop(life.uid, None), life)
        if len(self._nameless) > MOST_NAMELESS:
            gone = self._nameless.pop(next(iter(self._nameless)))
            if gone.ended != math.inf:
                self.admissions.drop(gone.uid)

    def _call(self, account: str) -> None:
        """Take in the Pods that waited for their service account to name somebody."""
        waiting = [each for each in self._nameless.values() if each.service_account == account]
        for life in waiting:
            self._take_life(life)

    def _take_decision(self, payload: bytes, projection: bytes | None) -> None:
        admitted = read_admitted(payload)
        if not admitted.counts:
            return
        uid = admitted.request.object_uid
        images = images_of(projection) if projection else ()
        self.admissions.take(admitted, images, kept=self.pods.get(uid) is not None)

    def _pair(self, spec: Any) -> None:
        identities = spec.get("identities") if isinstance(spec, dict) else None
        for each in identities if isinstance(identities, list) else ():
            object_id, client = each.get("objectId"), each.get("clientId")
            if isinstance(object_id, str) and isinstance(client, str):
                self.identities.pair(object_id, client)


def _admission_of(life: Life, found: Sequence[PodDecision]) -> PodAdmission:
    """Choose of the decisions that claim to have admitted a Pod."""
    timely = [each for each in found if _is_of_time(each, life)]
    against = [each for each in timely if _contradicts(each, life)]
    able = [each for each in timely if not _contradicts(each, life)]
    are_too_many = len(found) > MOST_OF_A_POD
    if len(able) > 1 or are_too_many:
        able = [each for each in able if _is_of(each, life)] or (
            [*found, PodDecision("", NOTHING)] if are_too_many else able
        )
    different = {each.admission: each for each in reversed(able)}
    decisions = sorted(different.values(), key=itemgetter(0)) or [
        PodDecision(life.decision, NOTHING)
    ]
    return PodAdmission(life, decisions, against, _accessed_by(life, decisions))


def _accessed_by(life: Life, decisions: Sequence[PodDecision]) -> AccessedBy:
    admission = merge_admissions([each.admission for each in decisions])
    return AccessedBy(
        pod=life.pod,
        uid=life.uid,
        service_account=life.service_account,
        node=life.node,
        decision=decisions[0].id if len(decisions) == 1 else "",
        images=list(admission.images),
        profile=admission.profile,
        sandbox=admission.sandbox,
        requester=admission.requester,
    )


def _is_of_time(decision: PodDecision, life: Life) -> bool:
    """Return whether a decision was taken when a Pod was created, as far as that is known."""
    if life.made:
        return is_of_creation(decision.at, life.made)
    return decision.at <= life.began + ADMITTED_S


def _is_of(decision: PodDecision, life: Life) -> bool:
    """Return whether a decision says of a Pod what the cluster shows of it."""
    shown = life.requester and life.digest and decision.admission.digest == life.digest
    return bool(shown) and not _contradicts(decision, life)


def _contradicts(decision: PodDecision, life: Life) -> bool:
    """Return whether a decision says otherwise than the note on a Pod, or the digest of its `spec`.

    A Pod of a controller has no note. A decision of an earlier release has no digest.
    """
    said = decision.admission
    if not life.requester:
        return False
    is_other_spec = said.digest and life.digest and said.digest != life.digest
    return bool(is_other_spec) or label_of(said.requester) != life.requester
