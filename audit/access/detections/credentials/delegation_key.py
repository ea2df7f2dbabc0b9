"""18: user delegation keys issued, and SAS of them used from public addresses."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.coverage import Coverage, Same
from audit.access.model.detection import Detection, EventContext, Tunable
from audit.access.model.findings import make_finding, size_text
from audit.access.model.sightings import is_news, origin_of
from core.weights.documents.access import Access, Act, Caller, SignedBy
from core.weights.documents.events import Activity, Finding, Severity, Topic

_MOST: Final = 4096
_ISSUE: Final = "GetUserDelegationKey"

_ISSUED: Final = "issued"
_USED: Final = "used"


class DelegationKeyState(msgspec.Struct):
    """What this detection remembers."""

    issued: dict[str, list[int]] = {}
    """By account and principal: the last days on which keys were issued."""
    raised: dict[str, int] = {}


def _see(
    event: Access | Activity, state: DelegationKeyState, known: EventContext
) -> Sequence[Finding]:
    if isinstance(event, Activity):
        return _judge_issue(event, state, known) if known.done else ()
    if _is_issue(event):
        return _judge_issue(event, state, known)
    return _judge_use(event, state, known) if _is_public_use(event) else ()


def _is_issue(access: Access) -> bool:
    return access.succeeded and access.operation == _ISSUE


def _is_public_use(access: Access) -> bool:
    """Return whether a SAS of such a key reads weights from a public address."""
    is_use = access.signed_by is SignedBy.DELEGATION_SAS and access.act in {Act.READ, Act.COPY}
    return is_use and access.caller is Caller.PUBLIC and bool(access.store) and access.succeeded


def _judge_issue(
    event: Access | Activity, state: DelegationKeyState, known: EventContext
) -> Sequence[Finding]:
    name = f"{event.account} {known.who}"
    days = state.issued.pop(name, [])
    if len(state.issued) >= _MOST:
        del state.issued[next(iter(state.issued))]
    before = [day for day in days if day < known.day]
    state.issued[name] = [*before, known.day][-8:]
    if len(before) >= known.tuned["delegation_usual_days"]:
        return ()
    if not is_news(state.raised, f"{name} {known.day}"):
        return ()
    store = known.surroundings.stores.get(event.store)
    listed = {one.object_id for one in store.spec.identities or ()} if store else set()
    listed |= set(store.client_ids) if store else set()
    is_listed = event.principal in listed or event.application in listed
    return [
        make_finding(
            DETECTION,
            event,
            known,
            ("issued", event.account, known.who, str(known.day)),
            Severity.MEDIUM if is_listed else Severity.HIGH,
            f"{known.who} had a user delegation key of {event.account} issued",
            f"With it, SAS can be made that read for up to seven days, wherever they are taken, "
            f"and are not listed anywhere. {known.who} had keys issued on {len(before)} days "
            "before, and "
            + ("is" if is_listed else "is not")
            + " among the identities of the WeightStore. From "
            + (event.address or "an address that is not told")
            + ".",
            aspect=_ISSUED,
        )
    ]


def _judge_use(access: Access, state: DelegationKeyState, known: EventContext) -> Sequence[Finding]:
    name = f"used {access.store} {known.who} {known.day}"
    if not is_news(state.raised, name):
        return ()
    return [
        make_finding(
            DETECTION,
            access,
            known,
            (name,),
            Severity.HIGH,
            f"A delegated SAS of {known.who} reads {access.store} from a public address",
            f"{size_text(access.bytes_out)} with this request, from {origin_of(access)}. Who holds "
            "the SAS need not be who had its key issued.",
            amount=access.bytes_out,
            aspect=_USED,
        )
    ]


DETECTION: Final = Detection(
    id="delegation-key",
    number=18,
    title="User delegation keys issued",
    about="A principal has a user delegation key issued, from which SAS are made that anybody can "
    "use; high where the WeightStore does not list it. Who did so on three days before is quiet: "
    "a service that works by such SAS. Both logs tell of one key; it is found once a day. Also "
    "found is a delegated SAS that reads from a public address.",
    severity=Severity.HIGH,
    techniques=("T1550.001", "T1528", "T1098.001"),
    needs=("the StorageRead log", "identities of the WeightStore"),
    blind=(
        "what SAS were made of a key: that happens without storage",
        "a service that has had keys issued for days, and is taken over",
    ),
    remedy="Revoke user delegation keys of the account, and take the role Storage Blob Delegator "
    "from who does not need it.",
    bound=f"{_MOST} pairs of account and principal, as many findings",
    begin=DelegationKeyState,
    see=_see,
    acts=frozenset({Act.POLICY, Act.READ, Act.COPY}),
    covers={
        _ISSUED: Coverage(_is_issue, frozenset({Same.ACCOUNT, Same.WHO})),
        _USED: Coverage(_is_public_use),
    },
    topics=frozenset({Topic.DELEGATION_KEY_ISSUED}),
    tuning=(
        Tunable(
            "delegation_usual_days",
            3,
            "days",
            "three days make a service of it; each of them was found",
        ),
    ),
)
