"""How Cilium's policies write Pods, names and ports (cilium.io/v2). Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from core.egress.destinations import ICMP, PortRange
from core.egress.dns_names import ANY, WILDCARD
from core.kubernetes.label_selectors import Requirements
from egress.model.openings import Block, Opening, Pods, Problem
from egress.render.generated_objects import Json
from egress.render.partition import PolicyItem, Ports
from egress.render.target import Engine

PORT_RANGES: Final = (1, 17)
"""The first version with `endPort` in AKS."""
MANY_LABELS: Final = (1, 19)
"""The first version in which `**.` stands for one or more labels; `*` never crosses a dot
(pkg/fqdn/matchpattern). Before, `**` is read as `*`."""
LABELS_WRITTEN_OUT: Final = 8
"""Before 1.19 a wildcard is written once for each number of labels, up to so many."""
MAX_PORTS: Final = 40
"""Of an entry of `toPorts`, and of `icmps` (pkg/policy/api/rule_validation.go, maxPorts)."""

_LEFT_OUT: Final = re.compile(
    r"io\.kubernetes|kubernetes\.io|statefulset\.kubernetes\.io/pod-name"
    r"|apps\.kubernetes\.io/pod-index|batch\.kubernetes\.io/job-completion-index"
    r"|batch\.kubernetes\.io/controller-uid|.*beta\.kubernetes\.io|k8s\.io"
    r"|pod-template-generation|pod-template-hash|controller-revision-hash|controller-uid"
    r"|annotation|etcd_node|topology\.kubernetes\.io"
)
"""Beginnings of labels that are in no identity (pkg/labelsfilter, defaultLabelPrefixCfg)."""

_NAMESPACE_LABELS: Final = "io.cilium.k8s.namespace.labels"
"""Before a label of a Pod's namespace, in its identity (pkg/k8s/apis/cilium.io/const.go)."""


class RenderedOpening(msgspec.Struct, frozen=True):
    """What policies have of an opening."""

    blocks: tuple[tuple[Ports, Block], ...] = ()
    items: tuple[PolicyItem, ...] = ()
    """Peers that are no networks."""
    names: tuple[str, ...] = ()
    """What Pods may ask the cluster's DNS for."""
    entries: int = 0
    """Of the policy map, of each Pod that it is open for."""
    problems: tuple[Problem, ...] = ()
    opening: Opening | None = None
    """What of it is said; None for nothing."""


def find_unseen_label(requirements: Requirements) -> str:
    """Return a label that Cilium does not see on Pods, if a selector has one; else nothing.

    `NotIn` and `DoesNotExist` of such a label would be true of every Pod.
    """
    return next((each.key for each in requirements if _LEFT_OUT.match(each.key)), "")


def selector(requirements: Requirements, **labels: str) -> Json:
    """Return an endpoint selector; `k8s:` keeps labels of other sources apart."""
    found: Json = {}
    if labels:
        found["matchLabels"] = {f"k8s:{key}": value for key, value in labels.items()}
    if requirements:
        found["matchExpressions"] = [
            {**each.written(), "key": f"k8s:{each.key}"} for each in requirements
        ]
    return found


def selector_of(pods: Pods) -> Json:
    """Return the selector of Pods, of one namespace or of those with labels."""
    if pods.namespaces is None:
        return selector(pods.requirements, **{"io.kubernetes.pod.namespace": pods.namespace})
    found = selector(pods.requirements)
    of_namespaces = [
        {**each.written(), "key": f"k8s:{_NAMESPACE_LABELS}.{each.key}"} for each in pods.namespaces
    ]
    every = [{"key": "k8s:io.kubernetes.pod.namespace", "operator": "Exists"}]
    written = [*found.get("matchExpressions", ()), *(of_namespaces or every)]
    return {**found, "matchExpressions": written}


def name_patterns(name: str, engine: Engine) -> list[Json]:
    """Return the selector of a name or wildcard, for `toFQDNs` and for rules of DNS."""
    if name == ANY:
        return [{"matchPattern": ANY}]
    if not name.startswith(WILDCARD):
        return [{"matchPattern" if ANY in name else "matchName": name}]
    parent = name.removeprefix(WILDCARD)
    if engine.version >= MANY_LABELS:
        return [{"matchPattern": f"**.{parent}"}]
    return [
        {"matchPattern": f"{WILDCARD * labels}{parent}"}
        for labels in range(1, LABELS_WRITTEN_OUT + 1)
    ]


def open_on(ranges: Sequence[PortRange]) -> list[Json]:
    """Return the parts of rules that say ports, and types of ICMP, which none says together."""
    written = [_port(each) for each in ranges if each.protocol not in ICMP]
    types = [_icmp_type(each) for each in ranges if each.protocol in ICMP]
    found: list[Json] = (
        [{"toPorts": [{"ports": each} for each in _cut(written)]}] if written else []
    )
    return [*found, *({"icmps": [{"fields": each}]} for each in _cut(types))]


def _cut(written: Sequence[Json]) -> list[Sequence[Json]]:
    return [written[start : start + MAX_PORTS] for start in range(0, len(written), MAX_PORTS)]


def _icmp_type(ports: PortRange) -> Json:
    return {"family": "IPv4" if ports.protocol == "ICMP" else "IPv6", "type": ports.first}


def _port(ports: PortRange) -> dict[str, Any]:
    if ports.is_whole:
        return {"port": "0", "protocol": ports.protocol}
    end = {} if ports.first == ports.last else {"endPort": ports.last}
    return {"port": ports.name or str(ports.first), **end, "protocol": ports.protocol}


def find_inexpressible_ports(ranges: Sequence[PortRange], engine: Engine) -> Iterator[str]:
    """Yield why ports cannot be said, for a person."""
    ranging = (each.first != each.last and not each.is_whole for each in ranges)
    if engine.version < PORT_RANGES and any(ranging):
        yield "ranges of ports need Cilium 1.17: name the ports one by one"
    if any(each.name for each in ranges):
        yield (
            "Cilium looks a port's name up among the Pods of the whole cluster, so that a "
            "stranger's would choose its number: write the number"
        )
    if not engine.sctp and any(each.protocol == "SCTP" for each in ranges):
        yield "Cilium refuses policies with SCTP until it is turned on (sctp.enabled)"


def map_entries(ranges: Sequence[PortRange]) -> int:
    """Return how many entries of a policy map ports take: a range is cut into aligned blocks."""
    return sum(1 if each.is_whole else _blocks(each.first, each.last) for each in ranges)


def _blocks(first: int, last: int) -> int:
    found = 0
    while first <= last:
        size = first & -first or 1 << 16
        while size > last - first + 1:
            size >>= 1
        first, found = first + size, found + 1
    return found
