"""Renders openings as CiliumNetworkPolicies (cilium.io/v2). Pure.

Cilium knows names: it looks at what the cluster's DNS answers to a Pod, lets it ask for the names
of its allowlists alone, and opens the addresses of these answers. Addresses of Pods and nodes match
no CIDR there, so Services are said by their selectors.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from core.base import names
from core.kubernetes.label_selectors import Requirement, Requirements
from egress.model.openings import Meaning, Opening, Problem
from egress.render.cilium_peers import Said, said_of
from egress.render.cilium_words import of_namespace, patterns, ports_of, selector
from egress.render.generated_objects import DEFAULT_DENY, DNS, GUARD, Json, allow_name, generated
from egress.render.guards import Guard, guards
from egress.render.partition import (
    Item,
    block_items,
    by_allowlist,
    item_of,
    pack,
    rules,
    too_large_problem,
)
from egress.render.target import Dns, Rendered, Target

API_VERSION: Final = "cilium.io/v2"
KIND: Final = "CiliumNetworkPolicy"

MAP_ENTRIES: Final = 16_384
"""Of the policy map of one endpoint (`bpf-policy-map-max`)."""
WARN_AT: Final = MAP_ENTRIES * 8 // 10

_DNS_FIELD: Final = "dns"
"""Not of a rule: names that DNS may be asked for."""


def render(meaning: Meaning, target: Target) -> Rendered:
    """Give the policies of an enrolled namespace."""
    objects = _floor(meaning, target)
    problems: list[Problem] = []
    entries: dict[str, int] = {}
    for openings in by_allowlist(meaning):
        said = [said_of(opening, target) for opening in openings]
        problems += (problem for each in said for problem in each.problems)
        size = sum(each.entries for each in said)
        if size > MAP_ENTRIES:
            problems += (_too_many(opening, size) for opening in openings)
            continue
        for account in _accounts(openings[0].selects):
            entries[account] = entries.get(account, 0) + size
        made, found = _allowlist(meaning.namespace, openings, said, target)
        objects += made
        problems += found
    problems += _crowded(meaning, entries)
    ordered = sorted(objects, key=lambda item: str(item["metadata"]["name"]))
    return Rendered(tuple(ordered), tuple(sorted(set(problems))))


def _floor(meaning: Meaning, target: Target) -> list[Json]:
    """Give what every namespace has: nothing is open but DNS, and reserved addresses are denied."""
    # A Pod's resolver tries each name under the cluster's zone first, and musl's gives up where
    # such a question is refused. The cluster's DNS answers for that zone itself, and asks nobody.
    zone = patterns(f"*.{target.dns.domain}", target.engine)
    namespace = meaning.namespace
    return [
        _policy(namespace, DEFAULT_DENY, {}, {"egress": [{}]}),
        _policy(namespace, DNS, {}, {"egress": [_dns_rule(target.dns, zone)]}),
        *(
            _guard(namespace, index, each)
            for index, each in enumerate(guards(meaning.openings, target.reserved))
        ),
    ]


def _guard(namespace: str, index: int, guard: Guard) -> Json:
    but_for: Requirements = ()
    if guard.but_for:
        but_for = (Requirement(names.EGRESS_ACCOUNT_LABEL, "NotIn", guard.but_for),)
    items = sorted(block_items("toCIDRSet", (((), block) for block in guard.blocks)))
    denied = [{field: peers} for field, _, peers in rules(items)]
    return _policy(namespace, f"{GUARD}-{index}", selector(but_for), {"egressDeny": denied})


def _allowlist(
    namespace: str, openings: list[Opening], said: list[Said], target: Target
) -> tuple[list[Json], list[Problem]]:
    """Give the policies of one allowlist; `said` is of its openings."""
    allowlist, selects = openings[0].allowlist, selector(openings[0].selects)
    empty = _policy(namespace, allow_name(allowlist, 0), selects, {}, allowlist)
    fixed = len(msgspec.json.encode([empty, _dns_rule(target.dns, [])]))
    policies, too_large = pack(_items(said, target), fixed)
    problems = []
    if too_large:
        problems = [
            too_large_problem(opening)
            for opening, each in zip(openings, said, strict=True)
            if pack(_items([each], target), fixed)[1]
        ]
    return [
        _policy(
            namespace,
            allow_name(allowlist, index),
            selects,
            {"egress": list(_rules(items, target.dns))},
            allowlist,
        )
        for index, items in policies.items()
    ], problems


def _items(said: list[Said], target: Target) -> Iterator[Item]:
    yield from block_items("toCIDRSet", (block for each in said for block in each.blocks))
    for each in said:
        yield from each.items
        for name in each.names:
            for pattern in patterns(name, target.engine):
                yield item_of(_DNS_FIELD, (), pattern)


def _rules(items: list[Item], dns: Dns) -> Iterator[Json]:
    for field, ports, peers in rules(items):
        if field == _DNS_FIELD:
            yield _dns_rule(dns, peers)
        else:
            yield {field: peers, "toPorts": ports_of(ports)}


def _dns_rule(dns: Dns, asked: list[Json]) -> Json:
    """Let Pods ask the cluster's DNS for these names, which is also how Cilium learns answers."""
    ports = [{"port": str(dns.port), "protocol": protocol} for protocol in ("TCP", "UDP")]
    return {
        "toEndpoints": [of_namespace(each.namespace, each.requirements) for each in dns.pods],
        "toPorts": [{"ports": ports, "rules": {"dns": asked}}],
    }


def _accounts(selects: Requirements) -> Iterator[str]:
    for each in selects:
        if each.key == names.EGRESS_ACCOUNT_LABEL:
            yield from each.values


def _too_many(opening: Opening, size: int) -> Problem:
    message = (
        f"the allowlist takes about {size} entries of Cilium's policy map, which has {MAP_ENTRIES} "
        "for a Pod: all of it stays closed until it is narrower"
    )
    return Problem(opening.allowlist, opening.path, "TooManyEntries", message)


def _crowded(meaning: Meaning, entries: dict[str, int]) -> Iterator[Problem]:
    """Yield warnings of allowlists that fill a Pod's policy map together.

    None is closed for what others take: then removing one of them would open another. Cilium itself
    leaves out what goes beyond, so more is closed, and nothing is open that nobody named.
    """
    for openings in by_allowlist(meaning):
        size = max((entries.get(each, 0) for each in _accounts(openings[0].selects)), default=0)
        if size > WARN_AT:
            message = (
                f"with others takes about {size} of the {MAP_ENTRIES} entries of Cilium's policy "
                "map for a Pod: what goes beyond stays closed, whichever it is"
            )
            yield Problem(openings[0].allowlist, "spec.to", "PolicyMapFull", message, closes=False)


def _policy(
    namespace: str, name: str, endpoints: Json, rules_of: Json, allowlist: str = ""
) -> Json:
    spec = {"endpointSelector": endpoints, **rules_of}
    metadata = {"name": name, "namespace": namespace}
    return generated(API_VERSION, KIND, metadata, spec, allowlist=allowlist)
