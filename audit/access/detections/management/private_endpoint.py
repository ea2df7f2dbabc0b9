"""16: a private-endpoint connection approved, from another tenant or subscription above all."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.detection import Detection, EventContext
from audit.access.model.findings import make_finding
from audit.access.model.sightings import is_news
from audit.access.parsers.activity_facts import actor_text, fact_text, is_delete, subscription_of
from core.weights.documents.events import Activity, Finding, Severity, Topic


class PrivateEndpointState(msgspec.Struct):
    """What this detection remembers."""

    raised: dict[str, int] = {}


def _see(event: Activity, state: PrivateEndpointState, known: EventContext) -> Sequence[Finding]:
    if not known.done or is_delete(event) or event.facts.get("approved") is False:
        return ()
    endpoint = fact_text(event, "endpoint")
    subscription = fact_text(event, "subscription") or subscription_of(endpoint)
    tenant = fact_text(event, "tenant")
    is_own = _is_own(subscription, tenant, known)
    name = f"{event.account} {endpoint or fact_text(event, 'connection')} {known.day}"
    if is_own or not is_news(state.raised, name):
        return ()
    severity, whose = Severity.HIGH, "of another tenant or subscription"
    if is_own is None:
        severity, whose = Severity.MEDIUM, "of which nobody said whose it is"
    return [
        make_finding(
            DETECTION,
            event,
            known,
            (name,),
            severity,
            f"A private endpoint {whose} was connected to {event.account}",
            f"Endpoint {endpoint or 'not told'}, subscription {subscription or 'not told'}, tenant "
            f"{tenant or 'not told'}; approved by {actor_text(event)}. Through it the account is "
            "reached from another network, past its firewall and this cluster's egress control.",
        )
    ]


def _is_own(subscription: str, tenant: str, known: EventContext) -> bool | None:
    """Return whether an endpoint is the operator's; None where nobody can tell."""
    tenants, subscriptions = known.surroundings.tenants, known.surroundings.subscriptions
    if tenant and tenants and tenant not in tenants:
        return False
    if subscription and subscriptions:
        return subscription in subscriptions
    return None


DETECTION: Final = Detection(
    id="private-endpoint",
    number=16,
    title="A private-endpoint connection approved",
    about="A connection of a private endpoint to a storage account was approved. High where the "
    "endpoint is of another tenant or subscription than the operator's, medium where nobody can "
    "tell, quiet where it is the operator's own. Rejecting and deleting are quiet.",
    severity=Severity.HIGH,
    techniques=("T1537", "T1562.007"),
    needs=("Azure's Activity log", "the operator's subscriptions and tenants (settings)"),
    blind=(
        "whose endpoint it is, where the log does not tell",
        "an endpoint within the operator's own subscriptions, made by an intruder",
    ),
    remedy="Reject the connection, and look at what reads came through it since.",
    bound="4096 findings",
    begin=PrivateEndpointState,
    see=_see,
    topics=frozenset({Topic.PRIVATE_ENDPOINT}),
)
