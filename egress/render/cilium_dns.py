"""The cluster's DNS in Cilium's policies: who may ask it for what, and by no other rule. Pure."""

from collections.abc import Iterator

import msgspec

from core.base.networks import Network, any_holds, collapse, holds
from core.egress.destinations import PortRange
from core.kubernetes.label_selectors import may_overlap
from egress.model.openings import Block, Opening, Pods, Problem
from egress.render.cilium_words import RenderedOpening, selector_of
from egress.render.generated_objects import Json
from egress.render.partition import PolicyItem
from egress.render.target import Dns, RenderTarget


def but_dns_pods(
    opening: Opening,
    found: RenderedOpening,
    pods: Pods,
    target: RenderTarget,
) -> RenderedOpening:
    """Leave the cluster's DNS out of Pods that an opening means.

    A rule on its port that names no names opens all of them, also beside one that does ("empty L7
    rules wildcard L7", pkg/policy/l4.go): Pods may ask it by the rules of DNS alone.
    """
    dns = target.dns
    if not target.engine.learns_names or not _may_be_dns(pods, dns):
        return found
    items = [without_port(item, dns.port) for item in found.items]
    if items == list(found.items):
        return found
    left = tuple(item for item in items if item is not None)
    said = None
    if left:
        ports = tuple(part for each in opening.ports for part in without_dns(each, dns.port))
        said = msgspec.structs.replace(opening, ports=ports)
    why = (
        f"port {dns.port} of the cluster's DNS is left out: every Pod may ask it already, for the "
        "names of its allowlists"
    )
    problem = Problem(opening.allowlist, opening.path, "DnsLeftOut", why, closes=not left)
    problems = (*found.problems, problem)
    return msgspec.structs.replace(found, items=left, problems=problems, opening=said)


def but_dns_addresses(
    blocks: list[Block], opening: Opening, target: RenderTarget
) -> tuple[list[Block], list[Problem]]:
    """Leave addresses of the cluster's DNS out of networks, as `but_dns_pods` does of Pods."""
    holds_port = any(_holds_dns(each, target.dns.port) for each in opening.ports)
    if not target.engine.learns_names or not holds_port:
        return blocks, []
    left: list[Block] = []
    lost: list[Network] = []
    for block in blocks:
        inside = [each for each in target.dns.addresses if holds(block.network, each)]
        open_there = [each for each in inside if not any_holds(block.excepts, each)]
        if any_holds(target.dns.addresses, block.network):
            lost.append(block.network)
        elif open_there:
            lost += open_there
            left.append(Block(block.network, collapse((*block.excepts, *open_there))))
        else:
            left.append(block)
    if not lost:
        return blocks, []
    shown = ", ".join(map(str, lost))
    why = f"{shown} is the cluster's DNS, which every Pod may ask for the names of its allowlists"
    return left, [Problem(opening.allowlist, opening.path, "DnsLeftOut", why, closes=not left)]


def _may_be_dns(pods: Pods, dns: Dns) -> bool:
    return any(
        pods.may_have_namespace(each.namespace)
        and may_overlap(pods.requirements, each.requirements)
        for each in dns.pods
    )


def without_port(item: PolicyItem, port: int) -> PolicyItem | None:
    """Return an item without a port of TCP and UDP; None where it has no others."""
    left = tuple(part for each in item.ports for part in without_dns(each, port))
    return msgspec.structs.replace(item, ports=left) if left else None


def _holds_dns(ports: PortRange, port: int) -> bool:
    """Return whether DNS, on this port, may be asked by a range of ports, or by a named one."""
    asks = ports.protocol in {"TCP", "UDP"}
    return asks and (bool(ports.name) or ports.first <= port <= ports.last)


def without_dns(ports: PortRange, port: int) -> Iterator[PortRange]:
    """Yield what is left of a range without the port of DNS; nothing of one by its name."""
    if not _holds_dns(ports, port):
        yield ports
        return
    for first, last in ((ports.first, port - 1), (port + 1, ports.last)):
        if first <= last and not ports.name:
            yield PortRange(ports.protocol, first, last)


def dns_rules(target: RenderTarget, asked: list[Json] | None) -> list[Json]:
    """Let Pods ask the cluster's DNS for these names, which is also how Cilium learns answers.

    None for all names: beside rules that name some, Cilium then filters by a pattern for all of
    them, and still learns ("empty L7 rules wildcard L7", pkg/policy/l4.go). Where it does not learn
    names, Pods may ask for all. An address on the node itself is the entity `host`, and until
    Cilium has seen it there (before 1.17: always) it is a network.
    """
    dns = target.dns
    named: Json = {}
    if asked is not None and target.engine.learns_names:
        named = {"rules": {"dns": asked}}
    peers: list[Json] = [{"toEndpoints": [selector_of(each) for each in dns.pods]}]
    if dns.addresses:
        peers.append({"toCIDRSet": [{"cidr": str(each)} for each in dns.addresses]})
    if dns.is_on_node:
        peers.append({"toEntities": ["host"]})
    return [
        {
            **each,
            "toPorts": [
                {
                    "ports": [
                        {"port": str(dns.port), "protocol": protocol} for protocol in ("TCP", "UDP")
                    ],
                    **named,
                }
            ],
        }
        for each in peers
    ]
