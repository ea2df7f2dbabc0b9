"""8: weights read by a principal of which no Pod lived, or none that was admitted."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.azure_scanners import is_malware_scan
from audit.access.model.coverage import Coverage
from audit.access.model.detection import Detection, EventContext
from audit.access.model.findings import graver_key, make_finding, requests_text, size_text
from audit.access.model.sightings import origin_of, touch
from core.weights.documents.access import UNATTRIBUTED, Access, Act, Confidence, SignedBy
from core.weights.documents.events import Finding, Severity

_MOST: Final = 4096
_SIGNED: Final = frozenset({SignedBy.OAUTH, SignedBy.KERBEROS, SignedBy.DELEGATION_SAS})

_UNATTRIBUTED: Final = "unattributed"
_UNADMITTED: Final = "unadmitted"


class UnaccountedReads(msgspec.Struct, gc=False, array_like=True):
    """What of one principal and store is unaccounted for on a day."""

    first: float
    bytes: int = 0
    events: int = 0


class NoLivePodState(msgspec.Struct):
    """What this detection remembers."""

    reads: dict[str, UnaccountedReads] = {}
    raised: dict[str, int] = {}


def _aspect_of(access: Access) -> str:
    """Say what is missing of an access: its Pod, or its Pod's admission; empty where nothing is."""
    attribution = access.attribution
    if attribution.pods and attribution.pods[0].decision:
        return ""
    is_unattributed = attribution.confidence is Confidence.UNATTRIBUTED
    if not is_unattributed and (
        not attribution.pods or any(one.decision for one in attribution.pods)
    ):
        return ""
    if access.signed_by not in _SIGNED or not access.succeeded or attribution == UNATTRIBUTED:
        return ""
    if is_unattributed and access.grant:
        return ""  # A person whom a grant lets read without a Pod.
    return _UNATTRIBUTED if is_unattributed else _UNADMITTED


def _see(access: Access, state: NoLivePodState, known: EventContext) -> Sequence[Finding]:
    attribution, what = access.attribution, _aspect_of(access)
    if not what:
        return ()
    is_unattributed = what == _UNATTRIBUTED
    name = f"{known.pair} {what} {known.day}"
    reads = touch(state.reads, name, lambda: UnaccountedReads(known.at), _MOST)
    reads.bytes += access.bytes_out
    reads.events += 1
    is_low = attribution.gaps or is_malware_scan(access)
    severity = _severity(is_unattributed=is_unattributed, is_low=is_low)
    finding_key = graver_key(state.raised, name, severity, least=Severity.LOW)
    if finding_key is None:
        return ()
    lived = "is known" if attribution.gaps else "lived"
    title = (
        f"{known.who} reads {access.store}, but no Pod of it {lived}"
        if is_unattributed
        else f"{known.who} reads {access.store} from a Pod without an admission record"
    )
    gaps = " The record of Pods has a gap there, so there may have been one." * attribution.gaps
    return [
        make_finding(
            DETECTION,
            access,
            known,
            finding_key,
            severity,
            title,
            f"{size_text(reads.bytes)} in {requests_text(reads.events)} so far this day, from "
            f"{origin_of(access)}. What is known: {attribution.why}.{gaps}",
            first=reads.first,
            events=reads.events,
            amount=reads.bytes,
            aspect=what,
        )
    ]


def _severity(*, is_unattributed: bool, is_low: bool) -> Severity:
    if is_low:
        return Severity.LOW
    return Severity.HIGH if is_unattributed else Severity.MEDIUM


DETECTION: Final = Detection(
    id="no-live-pod",
    number=8,
    title="Read by a principal with no live Pod, or no admission record",
    about="A read that signed in with Entra ID while no Pod lived that could have, or whose Pods "
    "no decision admitted. Once for principal, store and day. Low where the record of Pods or "
    "identities has a gap there, and for what Microsoft Defender's scanner reads by Azure's role "
    "for it. A person whom a live grant covers is quiet: people need no Pod.",
    severity=Severity.HIGH,
    techniques=("T1078.004", "T1528", "AML.T0012"),
    needs=(
        "the record of Pods' lives by control",
        "decisions in the ledger",
        "the StorageRead log",
    ),
    blind=(
        "a token that was taken out of a Pod and used while the Pod lives, from its address",
        "identities that are used outside of clusters by design: name them in weights.expected",
    ),
    remedy="Find who can sign in as the identity: federated credentials, secrets, virtual machines "
    "that have it. Take away its role until that is known.",
    bound=f"{_MOST} pairs of principal and store of a day, as many findings",
    begin=NoLivePodState,
    see=_see,
    acts=frozenset({Act.READ, Act.COPY}),
    covers={
        "": Coverage(lambda access: bool(_aspect_of(access))),
        _UNATTRIBUTED: Coverage(lambda access: _aspect_of(access) == _UNATTRIBUTED),
        _UNADMITTED: Coverage(lambda access: _aspect_of(access) == _UNADMITTED),
    },
)
