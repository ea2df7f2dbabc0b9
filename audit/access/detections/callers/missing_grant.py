"""11: weights accessed outside a live grant that two people approved."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.azure_scanners import ScannerClaim, is_malware_scan, scanner_claim
from audit.access.model.coverage import Coverage
from audit.access.model.detection import Detection, EventContext, Tunable
from audit.access.model.findings import graver_key, make_finding, requests_text, size_text
from audit.access.model.sightings import origin_of, touch
from core.weights.documents.access import Access, Act, SignedBy
from core.weights.documents.events import Finding, Severity

_MOST: Final = 4096
_UNSIGNED: Final = frozenset({SignedBy.ACCOUNT_KEY, SignedBy.SAS, SignedBy.ANONYMOUS})
"""Detection 1 tells of those: without a principal there can be no grant."""

_LISTING: Final = frozenset({Act.LIST, Act.POLICY, Act.OTHER})


class UngrantedDay(msgspec.Struct, gc=False, array_like=True):
    """What a principal did in a store on a day without a grant."""

    first: float
    bytes: int = 0
    events: int = 0


class UngrantedState(msgspec.Struct):
    """What this detection remembers."""

    done: dict[str, UngrantedDay] = {}
    raised: dict[str, int] = {}


def _concerns(access: Access) -> bool:
    is_ungranted = bool(access.ungranted) and access.succeeded
    if not is_ungranted or access.signed_by in _UNSIGNED:
        return False
    return scanner_claim(access) is not ScannerClaim.SHOWN


def _bytes_of_read(access: Access) -> int:
    """Return what left storage of blobs: a listing's answer is no part of a checkpoint."""
    return access.bytes_out if access.act is Act.READ else 0


def _see(access: Access, state: UngrantedState, known: EventContext) -> Sequence[Finding]:
    if not _concerns(access):
        return ()
    is_listing = access.act in _LISTING
    name = f"{known.pair} {known.day}"
    done = touch(state.done, name, lambda: UngrantedDay(known.at), _MOST)
    done.bytes += _bytes_of_read(access)
    done.events += 1
    checkpoint = known.checkpoint_bytes(access.store)
    if is_listing or is_malware_scan(access):
        severity = Severity.LOW
    elif checkpoint and done.bytes >= known.tuned["ungranted_grave_share"] * checkpoint:
        severity = Severity.CRITICAL
    else:
        severity = Severity.MEDIUM if access.attribution.gaps else Severity.HIGH
    finding_key = graver_key(state.raised, name, severity, least=Severity.LOW)
    if finding_key is None:
        return ()
    did = "looked at" if is_listing else _DID.get(access.act, "accessed")
    return [
        make_finding(
            DETECTION,
            access,
            known,
            finding_key,
            severity,
            f"{known.who} {did} {access.store} without a live grant",
            f"{access.ungranted}. {requests_text(done.events)} and {size_text(done.bytes)} read "
            f"so far this day, from {origin_of(access)}; the last one was {access.operation}.",
            first=done.first,
            events=done.events,
            amount=done.bytes,
        )
    ]


_DID: Final = {Act.READ: "read", Act.WRITE: "wrote to", Act.DELETE: "deleted from"}

DETECTION: Final = Detection(
    id="ungranted",
    number=11,
    title="Access without a live grant",
    about="An access that no AccessGrant covered at its time: none was asked for, it was not "
    "approved by two, had not begun, had ended, or is of another place, right, identity or human. "
    "Once for principal, store and day: low for listings, high for the rest, medium where the "
    "record of Pods has a gap, critical once a share of a checkpoint was read. What Microsoft "
    "Defender's scanner reads by Azure's role for it is low; lifecycle management, which Azure "
    "signs as a trusted service, is quiet: see detection 28.",
    severity=Severity.CRITICAL,
    techniques=("T1078.004", "T1530", "AML.T0035"),
    needs=("AccessGrants and their approvals as control recorded them", "attribution"),
    blind=(
        "accesses with a key, a SAS or no signature: see detection 1",
        "what a grant covers that should not have been given",
        "one who has Defender's role and calls from Azure's own networks: detection 15 finds who "
        "got it",
    ),
    remedy="Ask for a grant and have two others approve it, or take the identity's role on the "
    "store away.",
    bound=f"{_MOST} pairs of principal and store of a day, as many findings",
    begin=UngrantedState,
    see=_see,
    acts=frozenset(Act),
    covers={"": Coverage(_concerns, bytes_of=_bytes_of_read)},
    tuning=(
        Tunable(
            "ungranted_grave_share",
            0.1,
            "of a checkpoint",
            "as for keys: more than a look at configuration",
        ),
    ),
)
