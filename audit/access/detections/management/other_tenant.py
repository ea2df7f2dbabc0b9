"""30: what lets another tenant copy from an account, or in: switches and firewall rules."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from audit.access.model.detection import Detection, EventContext, ResponseStep
from audit.access.model.findings import make_finding
from audit.access.model.sightings import MOST_RAISED, is_change, is_news, touch
from audit.access.parsers.activity_facts import actor_text, fact_text, subscription_of
from core.weights.documents.events import Activity, Finding, Severity, Topic

_SCOPES: Final = ("privatelink", "aad", "all")
"""Values of allowedCopyScope from the narrowest; none at all is the widest."""

_MOST_NAMED: Final = 3
_LEVELS: Final = {each: number for number, each in enumerate(Severity, 1)}


class OtherTenantState(msgspec.Struct):
    """What this detection remembers."""

    settings: dict[str, str] = {}
    """By account and setting."""
    rules: dict[str, list[str]] = {}
    """By account, the resources that its firewall lets in."""
    raised: dict[str, int] = {}


class _Opening(NamedTuple):
    severity: Severity
    name: str
    text: str


def _see(event: Activity, state: OtherTenantState, known: EventContext) -> Sequence[Finding]:
    if not known.done or not event.store:
        return ()
    return [
        make_finding(
            DETECTION,
            event,
            known,
            (event.account, opening.name, str(known.day)),
            opening.severity,
            f"{event.account}: {opening.text}",
            f"By {actor_text(event)}: {event.operation}. {opening.text[0].upper()}"
            f"{opening.text[1:]}.",
        )
        for opening in _openings(event, state, known)
        if is_news(
            state.raised,
            f"{event.account} {opening.name} {known.day}",
            _LEVELS[opening.severity],
        )
    ]


def _openings(event: Activity, state: OtherTenantState, known: EventContext) -> Iterator[_Opening]:
    yield from _of_replication(event, state)
    yield from _of_copies(event, state)
    yield from _of_rules(event, state, known)


def _of_replication(event: Activity, state: OtherTenantState) -> Iterator[_Opening]:
    value = fact_text(event, "replication")
    key = f"{event.account} replication"
    asked = _is_asked(event, "allowcrosstenantreplication")
    if value and is_change(state.settings, key, value, asked=asked) and value == "true":
        text = "object replication into other tenants was allowed (allowCrossTenantReplication)"
        yield _Opening(Severity.HIGH, "replication", text)


def _of_copies(event: Activity, state: OtherTenantState) -> Iterator[_Opening]:
    value = fact_text(event, "copyScope")
    key = f"{event.account} copy"
    before = state.settings.get(key)
    if not value or not is_change(
        state.settings, key, value, asked=_is_asked(event, "allowedcopyscope")
    ):
        return
    if _width_of(value) < _SCOPES.index("all" if before is None else "aad") or (
        before is not None and _width_of(value) <= _width_of(before)
    ):
        return
    severity = Severity.HIGH if _width_of(value) == len(_SCOPES) - 1 else Severity.MEDIUM
    text = f"copies were allowed from {before or 'a scope that is not known'} to {value}"
    yield _Opening(severity, f"copy {value}", f"{text} (allowedCopyScope)")


def _width_of(scope: str) -> int:
    return _SCOPES.index(scope) if scope in _SCOPES else len(_SCOPES) - 1


def _of_rules(event: Activity, state: OtherTenantState, known: EventContext) -> Iterator[_Opening]:
    told = event.facts.get("rules")
    if told is None:
        return
    rules = [str(rule) for rule in told] if isinstance(told, list) else [str(told)]
    kept = state.rules.get(event.account)
    before = None if kept is None else tuple(kept)
    touch(state.rules, event.account, list, MOST_RAISED)[:] = rules
    if before is None and not _is_asked(event, "networkacls", "networkruleset"):
        return
    foreign = {rule: _is_own(rule, known) for rule in rules if rule not in (before or ())}
    for is_own, severity, whose in (
        (False, Severity.HIGH, "of another tenant or subscription"),
        (None, Severity.MEDIUM, "of which nobody said whose they are"),
    ):
        chosen = [rule for rule, own in foreign.items() if own is is_own]
        if chosen:
            named = "; ".join(_named(rule) for rule in chosen[:_MOST_NAMED])
            text = f"the firewall lets in resources {whose}: {named}"
            yield _Opening(severity, f"rules {' '.join(chosen)}", text)


def _is_own(rule: str, known: EventContext) -> bool | None:
    """Return whether a rule's resource is the operator's; None where nobody can tell."""
    tenant, _, resource = rule.partition(" ")
    tenants, subscriptions = known.surroundings.tenants, known.surroundings.subscriptions
    subscription = subscription_of(resource)
    if tenant and tenants and tenant not in tenants:
        return False
    if subscription and subscriptions:
        return subscription in subscriptions
    return True if tenant and tenants else None


def _named(rule: str) -> str:
    tenant, _, resource = rule.partition(" ")
    return f"{resource or 'a resource that is not told'} of tenant {tenant or 'not told'}"


def _is_asked(event: Activity, *names: str) -> bool:
    asked = event.facts.get("asked")
    return isinstance(asked, list) and any(name in asked for name in names)


DETECTION: Final = Detection(
    id="other-tenant",
    number=30,
    title="An account opened to another tenant",
    about="An account of a WeightStore was opened for copies into another tenant, or for its "
    "resources: cross-tenant replication was allowed (high), the scope of copies was widened to "
    "all accounts (high) or from private links to the tenant (medium), or a resource access rule "
    "of the firewall lets in a resource of another tenant or subscription, which the finding names "
    "(high; medium where nobody can tell whose it is). What stood before is remembered; narrowing "
    "is quiet, and so is a rule for a resource of the operator's own.",
    severity=Severity.HIGH,
    techniques=("T1537", "T1562.007", "AML.T0025"),
    needs=(
        "Azure's Activity log of the accounts' subscriptions",
        "the operator's subscriptions and tenants (settings)",
    ),
    blind=(
        "settings that stood before the log, until somebody changes them",
        "firewall rules by address or network: detection 12",
    ),
    fires=(
        "`Microsoft.Storage/storageAccounts/write` whose request sets "
        "`allowCrossTenantReplication: true`: high",
        "the same with `allowedCopyScope` from `AAD` to `All`, or to null: high",
        "the same with `networkAcls.resourceAccessRules` of a tenant that is not the operator's: "
        "high",
    ),
    quiet=(
        "an answer of Azure's that names how things stand, to a request for something else",
        "`allowCrossTenantReplication: false`, a narrower copy scope",
        "a resource access rule for a resource in the operator's own subscriptions",
    ),
    remedy="Switch it back, and look for replication policies and copies since (detections 7, 17).",
    steps=(
        ResponseStep(
            10,
            "Set `allowCrossTenantReplication: false`, `allowedCopyScope: AAD` (or `PrivateLink`), "
            "and remove the resource access rule.",
        ),
        ResponseStep(20, "Delete object replication policies that nobody knows, at the source."),
        ResponseStep(
            30, "Block the principal that did it, if nobody who may do so says that they did."
        ),
        ResponseStep(
            60, "List reads and copies since: what they took is gone, treat it as disclosed."
        ),
    ),
    recoverable="The settings. Nothing is lost by them, but what was copied out cannot be called "
    "back: only the other tenant can delete it.",
    bound="4096 settings, and the firewall rules of as many accounts",
    begin=OtherTenantState,
    see=_see,
    topics=frozenset({Topic.OTHER_TENANT}),
)
