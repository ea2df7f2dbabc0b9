"""What reaches model weights runs under a live grant, and by the private endpoint (docs/adr/0039).

No PolicyException excuses it: the grant is the exception, and has its own approval.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from admission.model.facts import Facts, WeightFacts
from admission.model.outcome import NOTHING, Outcome
from core.base import names
from core.base.safe_text import printable
from core.decision.decision import Action, Finding
from core.decision.request import Request
from core.weights.access_grants import KIND
from core.weights.access_paths import EVERYWHERE, AccessPath, UngrantedPath

GRANT_RULE: Final = "weights/grant"
PUBLIC_ROUTE_RULE: Final = "weights/public-route"

_MOST_REASONS: Final = 3
_MOST_HINTS: Final = 2


def check_weights(_: Request, facts: Facts) -> Outcome:
    """Refuse what reaches weights without a live grant, or by a public address."""
    known = facts.weights
    if known is None or not (known.ungranted or known.around or known.findings):
        return NOTHING
    findings = (*_ungranted(known), *map(_around, known.around), *known.findings)
    return Outcome(findings, _headline(known), tuple(_hints(known)))


def _ungranted(known: WeightFacts) -> Iterator[Finding]:
    for one in known.ungranted:
        message = f"{_what(one.way)} WeightStore {one.way.store.name}: {_why(one)}"
        account = f"the service account {one.account}" if one.account else "its service account"
        remedy = (
            f"Ask for an {KIND} that names {account} and whoever asks, and have two others "
            f"approve it (sallyport approve accessgrant NAME); an example is below."
        )
        yield Finding(GRANT_RULE, Action.DENY, one.way.path, message, remedy)


def _what(way: AccessPath) -> str:
    if way.by == "volume":
        secret = " with a key of the account" if way.key else ""
        account, _, container = way.shown.partition("/")
        held = f"{printable(container, 100)} of " if container else ""
        shown = printable(way.shown, 100) if account else f"{held}an account that it hides"
        return f"mounts {shown}{secret}, which is of"
    if way.by == "network" and way.shown.startswith(EVERYWHERE):
        return f"may connect {printable(way.shown, 100)}, and so to"
    if way.by == "network":
        return f"may connect to {way.shown}, the private endpoint of"
    if not way.shown:
        return "hides as whom it signs in, which may be one that opens"
    return f"can sign in as {way.shown}, which opens"


def _why(one: UngrantedPath) -> str:
    if not one.reasons:
        return "no AccessGrant of this namespace is about it"
    shown = [f"{name}: {why}" for name, why in one.reasons[:_MOST_REASONS]]
    left = len(one.reasons) - _MOST_REASONS
    return f"no grant covers it: {'; '.join(shown)}" + (f"; and {left} more" if left > 0 else "")


def _around(way: AccessPath) -> Finding:
    if way.by == "network":
        message = f"may go to WeightStore {way.store.name} by public addresses ({way.shown})"
        remedy = "Take that out of the EgressAllowlist, or open the private endpoint's address."
        return Finding(PUBLIC_ROUTE_RULE, Action.DENY, way.path, message, remedy)
    message = (
        f"goes to WeightStore {way.store.name} by {printable(way.public, 100)}, which is not its "
        f"private endpoint"
    )
    remedy = f"Leave the address out, or name {way.store.host}."
    return Finding(PUBLIC_ROUTE_RULE, Action.DENY, way.path, message, remedy)


def _headline(known: WeightFacts) -> str:
    if known.ungranted:
        return "It reaches model weights without a live grant."
    if known.around:
        return "It reaches model weights past their private endpoint."
    return "It may not show model weights so."


def _hints(known: WeightFacts) -> Iterator[str]:
    """Yield grants to ask for, as JSON that `kubectl apply -f -` takes: one for each store."""
    seen: dict[str, list[UngrantedPath]] = {}
    for one in known.ungranted:
        seen.setdefault(one.way.store.name, []).append(one)
    for store, ways in list(seen.items())[:_MOST_HINTS]:
        grant = msgspec.json.encode(_example(store, ways, known)).decode()
        yield f"A grant to ask for, with when it ends and why (kubectl apply -f -): {grant}"


def _example(store: str, ways: Sequence[UngrantedPath], known: WeightFacts) -> dict[str, object]:
    rights = sorted({right for one in ways for right in one.way.rights})
    marks = sorted(known.asker.marks)
    person = next((mark for mark in marks if mark.startswith("oid:")), "".join(marks[:1]))
    return {
        "apiVersion": names.API_VERSION,
        "kind": KIND,
        "metadata": {"name": f"{store}-{ways[0].account}", "namespace": known.namespace},
        "spec": {
            "store": store,
            "rights": rights,
            "serviceAccounts": sorted({one.account for one in ways}),
            "people": [person or "oid:…"],
            "reason": "…",
            "expiresAt": "…Z",
        },
    }
