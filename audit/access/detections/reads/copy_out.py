"""7: weights copied by storage itself into another account or container."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.coverage import Coverage, Same, bytes_written
from audit.access.model.detection import Detection, EventContext, Tunable
from audit.access.model.findings import make_finding
from audit.access.model.sightings import is_news, touch
from core.base.times import DAY_S
from core.weights.documents.access import Access, Act
from core.weights.documents.events import Finding, Severity

_MOST: Final = 4096
_WAIT_S: Final = 900.0
"""The records of one copy come within so long of each other."""

_SOURCE: Final = "CopyBlobSource"

_FROM: Final = "from"
_INTO: Final = "into"
_PLACE: Final = frozenset({Same.ACCOUNT, Same.CONTAINER, Same.WHO})


class CopyTrail(msgspec.Struct, gc=False, array_like=True):
    """What the records of one copy have told so far."""

    at: float
    source: str = ""
    """`account/container/blob`."""
    target: str = ""
    done: bool = False


class CopyOutState(msgspec.Struct):
    """What this detection remembers."""

    copies: dict[str, CopyTrail] = {}
    """By correlationId."""
    pairs: dict[str, float] = {}
    """From which container into which it was copied, and when first."""
    since: dict[str, float] = {}
    """When each store was copied from first."""
    raised: dict[str, int] = {}


def _see(access: Access, state: CopyOutState, known: EventContext) -> Sequence[Finding]:
    if not known.done:
        return ()
    key = access.correlation or access.id
    copy = touch(state.copies, key, lambda: CopyTrail(known.at), _MOST)
    place = f"{access.account}/{access.container}/{access.blob}"
    if access.operation == _SOURCE:
        copy.source = access.copy_source or copy.source or place
    else:
        copy.target = str(access.extra.get("copyTarget") or place)
        copy.source = access.copy_source or copy.source
    if copy.done or not copy.source or not copy.target:
        return ()
    copy.done = True
    if known.at > copy.at + _WAIT_S:
        return ()
    return _judge(access, copy, state, known)


def _is_copied_into(access: Access) -> bool:
    """Return whether it is the first of the records that one copy makes at its target."""
    return access.succeeded and access.operation != _SOURCE and access.operation_count == 0


def _judge(
    access: Access, copy: CopyTrail, state: CopyOutState, known: EventContext
) -> Sequence[Finding]:
    source, target = copy.source.split("/", 2), copy.target.split("/", 2)
    store = _store_of(source, known)
    if not store or source[:2] == target[:2]:
        return ()
    is_held = bool(_store_of(target, known))
    is_same_account = source[0] == target[0]
    if is_same_account and is_held:
        return ()
    pair = f"{'/'.join(source[:2])} {'/'.join(target[:2])}"
    began = state.since.setdefault(store, known.at)
    first = state.pairs.get(pair)
    if first is None and len(state.pairs) >= _MOST:
        del state.pairs[next(iter(state.pairs))]
    state.pairs.setdefault(pair, known.at)
    is_learnt = (first if first is not None else known.at) < began + (
        known.tuned["copy_learning_days"] * DAY_S
    )
    if is_same_account and is_learnt and first is not None:
        return ()
    if not is_news(state.raised, f"{pair} {known.who} {known.day}"):
        return ()
    return [_finding(access, store, pair, known, is_held=is_held, is_same=is_same_account)]


def _finding(  # noqa: PLR0913  what it is judged by
    access: Access, store: str, pair: str, known: EventContext, *, is_held: bool, is_same: bool
) -> Finding:
    severity = Severity.MEDIUM if is_held or is_same else Severity.HIGH
    source, target = pair.split(" ")
    where = "another container" if is_same else "another account"
    whose = ", which a WeightStore holds as well" if is_held else ", which no WeightStore holds"
    finding = make_finding(
        DETECTION,
        access,
        known,
        (pair, known.who, str(known.day)),
        severity,
        f"Weights of {store} were copied into {where}",
        f"{known.who} had storage copy from {source} into {target}{whose}, by {access.operation} "
        "(its three records count once). No bytes pass through the cluster or its egress control.",
        amount=access.bytes_in,
        aspect=_FROM if access.operation == _SOURCE else _INTO,
    )
    return msgspec.structs.replace(finding, store=store)


def _store_of(place: Sequence[str], known: EventContext) -> str:
    """Name the WeightStore that holds `account, container, blob`."""
    account, container, blob = (*place, "", "", "")[:3]
    for name, store in known.surroundings.stores.items():
        if container and store.holds(account, container, blob):
            return name
    return ""


DETECTION: Final = Detection(
    id="copy-out",
    number=7,
    title="Weights copied into another account or container",
    about="A copy by storage itself (CopyBlob and its kin, renames) whose source a WeightStore "
    "holds, and whose target is another account, or a container of the same one that no "
    "WeightStore holds. The three records of a copy count once. Copies within the containers of "
    "WeightStores of one account are quiet (backups, rotation), and so are pairs of containers of "
    "one account that were used in the first two weeks, after the first time.",
    severity=Severity.HIGH,
    techniques=("T1537", "AML.T0025", "AML.T0048.004"),
    needs=(
        "the StorageWrite log of the target's account, with the source of copies",
        "a WeightStore for every account that may hold weights",
    ),
    blind=(
        "a target whose account sends no logs here: then only a read by storage is seen, of a key, "
        "a SAS (detection 1) or an identity",
        "AzCopy between accounts, where each block is put from a URL, shows as PutBlockFromURL",
        "object replication: see detection 17",
    ),
    remedy="Delete the copy, look at who can read the target account, and set allowedCopyScope of "
    "the account to private links or its tenant.",
    bound=f"{_MOST} copies, pairs of containers and findings",
    begin=CopyOutState,
    see=_see,
    acts=frozenset({Act.COPY}),
    covers={
        _FROM: Coverage(
            lambda access: access.succeeded and access.operation == _SOURCE,
            _PLACE,
            bytes_of=bytes_written,
        ),
        _INTO: Coverage(_is_copied_into, _PLACE, bytes_of=bytes_written),
    },
    elsewhere=lambda access: access.succeeded,
    tuning=(
        Tunable(
            "copy_learning_days",
            14,
            "days",
            "nightly and weekly copies have happened by then",
        ),
    ),
)
