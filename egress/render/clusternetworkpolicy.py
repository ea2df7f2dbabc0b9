"""Renders the cluster-wide floor as ClusterNetworkPolicies (policy.networking.k8s.io). Pure.

Version v1alpha2 (sigs.k8s.io/network-policy-api v0.2.0), its standard channel. The Baseline tier
closes what no NetworkPolicy selects: a namespace from its first moment, and one whose own policies
somebody took away. The Admin tier denies reserved addresses above all NetworkPolicies, those that
people write too.

Where an allowlist names a reserved address, a policy in front of the denial lets its Pods `Pass` to
the tier of NetworkPolicies, in which Sallyport's own decide. Leaving such Pods out of the denial
would leave out Pods of the same account in every namespace: it is one object for the cluster.
"""

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from core.base import names
from core.base.networks import Network, collapse
from core.kubernetes.label_selectors import Requirements, build_selector
from egress.model.openings import CompiledAllowlists
from egress.model.reserved_ranges import ALWAYS_RESERVED
from egress.render.generated_objects import Json, generated_object, passes_name
from egress.render.guards import reserved_in_opening
from egress.render.partition import by_allowlist
from egress.render.target import Dns

_T = TypeVar("_T")

API_VERSION: Final = "policy.networking.k8s.io/v1alpha2"
KIND: Final = "ClusterNetworkPolicy"

FLOOR: Final = "sallyport-floor"
RESERVED: Final = "sallyport-reserved"

MAX_ITEMS: Final = 25
"""Of rules, of peers and of networks (the CRD's maxItems)."""
_PASS_PRIORITY: Final = 100
_DENY_PRIORITY: Final = 101
_BASELINE_PRIORITY: Final = 1000
"""The last: baselines that others write come first."""

_EVERYWHERE: Final = ("0.0.0.0/0", "::/0")


def render_floor(enrolled: Requirements, dns: Dns) -> tuple[Json, ...]:
    """Return the floor of the cluster; `enrolled` says which namespaces' labels it is for."""
    subject = {"namespaces": build_selector(enrolled)}
    asks = _rule("dns", "Accept", _dns_peers(dns), _protocols(dns))
    everywhere: list[Json] = [{"networks": list(_EVERYWHERE)}, {"namespaces": {}}]
    reserved = [{"networks": [str(each) for each in ALWAYS_RESERVED]}]
    past = _networks(dns.addresses)
    admin = [_rule("dns", "Pass", past, _protocols(dns))] if past else []
    return (
        _policy(
            FLOOR,
            ("Baseline", _BASELINE_PRIORITY),
            subject,
            [asks, _rule("everything-else", "Deny", everywhere)],
        ),
        _policy(
            RESERVED,
            ("Admin", _DENY_PRIORITY),
            subject,
            [*admin, _rule("reserved", "Deny", reserved)],
        ),
    )


def render_passes(meaning: CompiledAllowlists) -> tuple[Json, ...]:
    """Return the policy by which Pods of a namespace reach reserved addresses of allowlists."""
    found: list[Json] = []
    for openings in by_allowlist(meaning):
        named = collapse(
            each for opening in openings for each in reserved_in_opening(opening, ALWAYS_RESERVED)
        )
        subject = _pods(meaning.namespace, openings[0].selects)
        for index, peers in enumerate(_cut(_networks(named))):
            allowlist = openings[0].allowlist
            name = passes_name(meaning.namespace, allowlist, index)
            rules = [_rule("named", "Pass", peers)]
            found.append(_policy(name, ("Admin", _PASS_PRIORITY), subject, rules, allowlist))
    return tuple(found)


def _networks(networks: Iterable[Network]) -> list[Json]:
    return [{"networks": part} for part in _cut([str(each) for each in networks])]


def _cut(items: Sequence[_T]) -> list[list[_T]]:
    return [list(items[start : start + MAX_ITEMS]) for start in range(0, len(items), MAX_ITEMS)]


def _dns_peers(dns: Dns) -> list[Json]:
    return [
        *(_pods(each.namespace, each.requirements) for each in dns.pods),
        *_networks(dns.addresses),
    ]


def _pods(namespace: str, requirements: Requirements) -> Json:
    return {
        "pods": {
            "namespaceSelector": {"matchLabels": {names.NAMESPACE_NAME_LABEL: namespace}},
            "podSelector": build_selector(requirements),
        }
    }


def _protocols(dns: Dns) -> list[Json]:
    return [{each: {"destinationPort": {"number": dns.port}}} for each in ("tcp", "udp")]


def _rule(name: str, action: str, to: list[Json], protocols: list[Json] | None = None) -> Json:
    only = {"protocols": protocols} if protocols else {}
    return {"name": name, "action": action, "to": to, **only}


def _policy(
    name: str, place: tuple[str, int], subject: Json, egress: list[Json], allowlist: str = ""
) -> Json:
    tier, priority = place
    spec = {"tier": tier, "priority": priority, "subject": subject, "egress": egress}
    return generated_object(API_VERSION, KIND, {"name": name}, spec, allowlist=allowlist)
