"""12: keys listed or regenerated, public access, the firewall, the log itself switched off."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.detection import Detection, EventContext
from audit.access.model.findings import graver_key, make_finding
from audit.access.model.habits import DoneBefore, note_habit, week_of
from audit.access.model.scopes import is_subscription_or_above
from audit.access.parsers.activity_facts import actor_text, is_delete
from core.weights.documents.access import Access, Act
from core.weights.documents.events import Activity, Finding, Severity, Topic

_USUAL: Final = "It did so on earlier days too, from the same network."
_SETTINGS: Final = "/providers/microsoft.insights/diagnosticsettings/"
_CLUSTERS: Final = "/microsoft.containerservice/managedclusters/"
_ENTRA: Final = "microsoft.aadiam"

_ALL_LOGS: Final = frozenset({"alllogs", "audit"})
"""Groups of categories that have all of storage's, and kube-audit ("Diagnostic settings")."""

_CLUSTER_LOGS: Final = frozenset({"kube-audit", "kube-audit-admin"})
_READ_LOGS: Final = frozenset(
    {"storageread", "storagewrite", "storagedelete", "administrative", "auditlogs"} | _CLUSTER_LOGS
)
"""Categories that are read here; others may be off."""

_SET_ACCESS: Final = "setcontaineracl"
"""An operation of storage's own interface: only its own log tells of it."""


class KeysAndLoggingState(msgspec.Struct):
    """What this detection remembers."""

    raised: dict[str, int] = {}
    habits: dict[str, DoneBefore] = {}
    """By account, who lists its keys."""


def _see(
    event: Access | Activity, state: KeysAndLoggingState, known: EventContext
) -> Sequence[Finding]:
    if isinstance(event, Activity):
        kind, judged, by = event.topic.value, _JUDGES[event.topic](event), actor_text(event)
        account = event.account or event.resource
        judged = judged and _as_usual(event, judged, state, known)
    elif event.operation.lower() == _SET_ACCESS:
        why = "The log does not say what was set: stored policies, or public access."
        judged = (Severity.MEDIUM, f"the access of container {event.container} set", why)
        kind, account, by = f"{_SET_ACCESS} {event.container}", event.account, known.who
    else:
        return ()
    if judged is None:
        return ()
    severity, did, why = judged
    since = week_of(known.day) if why.startswith(_USUAL) else str(known.day)
    if not known.done:
        severity, did = Severity.LOW, f"tried and failed: {did}"
    name = f"{kind} {account} {known.who} {since}"
    finding_key = graver_key(state.raised, name, severity, least=Severity.LOW)
    if finding_key is None:
        return ()
    return [
        make_finding(
            DETECTION,
            event,
            known,
            finding_key,
            severity,
            f"{account.rsplit('/', 1)[-1]}: {did}",
            f"By {by}: {event.operation}. {why}",
        )
    ]


_FoundOut = tuple[Severity, str, str]
_Judged = _FoundOut | None


def _as_usual(
    event: Activity, judged: _FoundOut, state: KeysAndLoggingState, known: EventContext
) -> _FoundOut:
    """Return what was judged: low where it is a habit, medium at most where it is of no store."""
    severity, did, why = judged
    if event.topic is Topic.KEYS_LISTED and known.done and known.who:
        name = f"{event.account} {known.who} {event.application}"
        if note_habit(state.habits, name, known.day, event.address):
            return Severity.LOW, did, f"{_USUAL} {why}"
    if _is_watched(event, known):
        return judged
    most = Severity.LOW if severity is Severity.LOW else Severity.MEDIUM
    return most, did, f"No WeightStore lies there. {why}"


def _is_watched(event: Activity, known: EventContext) -> bool:
    """Return whether it is about a store's account, or a log that tells of a cluster or of all."""
    if event.account:
        held = {store.spec.account for store in known.surroundings.stores.values()}
        return event.account in held
    above = event.resource.partition(_SETTINGS)[0]
    return is_subscription_or_above(above) or _CLUSTERS in above or _ENTRA in event.resource


def _keys_listed(_event: Activity) -> _Judged:
    why = "Whoever has a key reads, writes and deletes all of the account, and no log says who."
    return Severity.HIGH, "account keys listed", why


def _key_regenerated(_event: Activity) -> _Judged:
    why = "The answer holds the new key; SAS of the old one end."
    return Severity.MEDIUM, "account key regenerated", why


def _sas_issued(_event: Activity) -> _Judged:
    why = "A SAS of the account's key is used by whoever holds it, until it ends."
    return Severity.HIGH, "SAS issued by Azure Resource Manager", why


def _public_access(event: Activity) -> _Judged:
    if event.facts.get("public") is False:
        return None
    return Severity.CRITICAL, "public access allowed", "Anonymous reads need no right at all."


def _diagnostics(event: Activity) -> _Judged:
    if is_delete(event):
        why = "From now on nobody sees who reads the weights."
        return Severity.CRITICAL, "diagnostic settings deleted", why
    lost = _lost_logs(event)
    if lost:
        why = f"Switched off: {', '.join(lost)}."
        return Severity.HIGH, "logs switched off", why
    why = "Look whether StorageRead, StorageWrite and StorageDelete still go where they did."
    return Severity.MEDIUM, "diagnostic settings changed", why


def _lost_logs(event: Activity) -> list[str]:
    """Return the logs that a setting switches off and does not write under another name."""
    off, on = ([str(one) for one in event.facts.get(name) or ()] for name in ("off", "categories"))
    if not on:
        return off
    covered = {one.lower() for one in on}
    if covered & _ALL_LOGS:
        return []
    if covered & _CLUSTER_LOGS:
        covered |= _CLUSTER_LOGS
    return [one for one in off if one.lower() in _READ_LOGS - covered]


def _shared_key(event: Activity) -> _Judged:
    if event.facts.get("allowed") is False:
        return None
    return Severity.HIGH, "keys and SAS allowed", "Reads by key have no one to attribute."


def _network_rules(event: Activity) -> _Judged:
    if not event.facts.get("body"):
        return Severity.MEDIUM, "network rules changed", "The log does not say how."
    if event.facts.get("open"):
        why = "The account answers the internet; weights should be reached by private endpoint."
        return Severity.HIGH, "opened to public networks", why
    if event.facts.get("addresses") or event.facts.get("networks"):
        why = "Look at the addresses and networks that it lets in."
        return Severity.LOW, "network rules changed", why
    return None


_JUDGES: Final = {
    Topic.KEYS_LISTED: _keys_listed,
    Topic.KEY_REGENERATED: _key_regenerated,
    Topic.SAS_ISSUED: _sas_issued,
    Topic.PUBLIC_ACCESS: _public_access,
    Topic.DIAGNOSTICS: _diagnostics,
    Topic.SHARED_KEY: _shared_key,
    Topic.NETWORK_RULES: _network_rules,
}

DETECTION: Final = Detection(
    id="keys-and-logging",
    number=12,
    title="Keys taken, the account opened, or its log switched off",
    about="Account keys listed or regenerated, SAS issued by Azure Resource Manager, keys or "
    "public access allowed, the firewall opened, diagnostic settings deleted or changed. Once for "
    "kind, account, who and day. Also that a container's access was set over storage's own "
    "interface, whose log does not say to what (medium). What was tried and failed is low. What "
    "makes it safer (public access, keys or public networks switched off) is quiet. The "
    "operator's own rotation of keys "
    "belongs into weights.expected, by its principal's id. Keys that the same principal listed on "
    "an earlier day of the last 31, from the same network, are low and said once a week, as "
    "Terraform does at each plan. What is about an account without a WeightStore is medium at "
    "most. A diagnostic setting counts as "
    "switched off where a log that is read here is off and no group (`audit`, `allLogs`) has it; "
    "other settings that Azure Policy writes are medium.",
    severity=Severity.CRITICAL,
    techniques=("AML.T0055", "T1552", "T1562.008", "T1562.007", "T1555.006"),
    needs=("Azure's Activity log of the accounts' subscriptions", "the StorageWrite log"),
    blind=(
        "who reads a key from a secret store, a pipeline or Terraform's state",
        "what a container's access was set to over storage's own interface",
        "changes that a template deployment makes are logged by the resource, later",
    ),
    remedy="Ask who did it. Else regenerate both keys, switch allowSharedKeyAccess and public "
    "access off, put the diagnostic settings back, and look at reads by key since.",
    bound="4096 findings and as many habits",
    begin=KeysAndLoggingState,
    see=_see,
    acts=frozenset({Act.POLICY}),
    topics=frozenset(_JUDGES),
)
