"""1: weights read with an account key, a SAS, or no signature: there is no one to attribute."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.coverage import Coverage
from audit.access.model.detection import Detection, EventContext, Tunable
from audit.access.model.findings import make_finding, requests_text, size_text
from audit.access.model.sightings import is_news, origin_of, touch
from core.weights.documents.access import Access, Act, Caller, SignedBy
from core.weights.documents.events import Finding, Severity

_WORDS: Final = {
    SignedBy.ACCOUNT_KEY: "an account key",
    SignedBy.SAS: "a SAS",
    SignedBy.ANONYMOUS: "no signature",
    SignedBy.UNKNOWN: "an unknown kind of signature",
}

_MOST: Final = 4096
_LOOKED: Final = "looked"
_LOOKS: Final = frozenset({Act.LIST, Act.POLICY})


class SignatureReads(msgspec.Struct, gc=False, array_like=True):
    """What one signature read of one store on one day."""

    first: float
    bytes: int = 0
    events: int = 0


class KeyOrAnonymousReadState(msgspec.Struct):
    """What this detection remembers."""

    reads: dict[str, SignatureReads] = {}
    raised: dict[str, int] = {}


def _concerns(access: Access) -> bool:
    return access.signed_by in _WORDS and access.succeeded and access.act not in _LOOKS


def _is_look(access: Access) -> bool:
    """Return whether names, properties or policies were asked for; probes for a token are not."""
    return access.signed_by in _WORDS and access.succeeded and access.act in _LOOKS


def _see(access: Access, state: KeyOrAnonymousReadState, known: EventContext) -> Sequence[Finding]:
    if access.signed_by not in _WORDS or not known.done:
        return ()
    if access.act in _LOOKS:
        return _judge_look(access, state, known)
    key = (access.store, known.who, str(known.day))
    name = " ".join(key)
    reads = touch(state.reads, name, lambda: SignatureReads(known.at), _MOST)
    reads.bytes += access.bytes_out
    reads.events += 1
    grave = known.tuned["unsigned_grave_share"] * (known.checkpoint_bytes(access.store) or 1e30)
    is_grave = (
        access.signed_by is SignedBy.ANONYMOUS
        or access.caller is Caller.PUBLIC
        or reads.bytes >= grave
    )
    if not is_news(state.raised, name, 2 if is_grave else 1):
        return ()
    return [_finding(access, reads, known, key, is_grave=is_grave)]


def _judge_look(
    access: Access, state: KeyOrAnonymousReadState, known: EventContext
) -> Sequence[Finding]:
    """Judge a request for names or settings: a read by the same signature tells more."""
    key = (access.store, known.who, str(known.day))
    name = " ".join(key)
    if name in state.raised or not is_news(state.raised, f"{_LOOKED} {name}"):
        return ()
    return [
        make_finding(
            DETECTION,
            access,
            known,
            (_LOOKED, *key),
            Severity.MEDIUM,
            f"{access.store} was looked at with {_WORDS[access.signed_by]}",
            f"{access.operation} of {access.container or access.account} from "
            f"{origin_of(access)}. Whoever holds it can look around, and no log says who that was.",
            aspect=_LOOKED,
        )
    ]


def _finding(
    access: Access,
    reads: SignatureReads,
    known: EventContext,
    key: tuple[str, ...],
    *,
    is_grave: bool,
) -> Finding:
    word = _WORDS[access.signed_by]
    return make_finding(
        DETECTION,
        access,
        known,
        (*key, str(is_grave)),
        Severity.CRITICAL if is_grave else Severity.HIGH,
        f"Weights of {access.store} were read with {word}",
        f"{size_text(reads.bytes)} in {requests_text(reads.events)} so far this day, from "
        f"{origin_of(access)}. Whoever holds it can read, and no log says who that was.",
        first=reads.first,
        events=reads.events,
        amount=reads.bytes,
    )


DETECTION: Final = Detection(
    id="key-or-anonymous-read",
    number=1,
    title="Weights read with a key, a SAS or no signature",
    about="A successful read or copy that was signed with an account key, a SAS of such a key, "
    "nothing, or a kind of signature that this release does not know. One finding for each "
    "signature, store and day; a second, graver one once it comes from a public address or a "
    "share of a checkpoint has left. Listings, and requests for properties and policies, are one "
    "finding of their own (medium) for each signature, store and day that has read nothing so far. "
    "Reads with Entra ID, and with a SAS of a user delegation key "
    "(detection 18), are quiet.",
    severity=Severity.CRITICAL,
    techniques=("AML.T0055", "AML.T0035", "T1552", "T1530"),
    needs=("the storage account's StorageRead log", "a WeightStore"),
    blind=(
        "who it was: that is the point of it",
        "anonymous requests that failed: storage logs few of them",
        "keys and SAS without a tokenHash share one finding a day",
    ),
    remedy="Set allowSharedKeyAccess and allowBlobPublicAccess to false on the account, regenerate "
    "its keys (which ends every SAS of them), and let readers sign in with Entra ID.",
    bound=f"{_MOST} signatures of a day and store, as many findings",
    begin=KeyOrAnonymousReadState,
    see=_see,
    acts=frozenset({Act.READ, Act.COPY, *_LOOKS}),
    covers={"": Coverage(_concerns), _LOOKED: Coverage(_is_look)},
    tuning=(
        Tunable(
            "unsigned_grave_share",
            0.1,
            "of a checkpoint",
            "a tenth is more than a look at a configuration or a tokenizer, and far less than a "
            "model; keys and SAS should read nothing at all",
        ),
    ),
)
