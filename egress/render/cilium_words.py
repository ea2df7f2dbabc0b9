"""How Cilium writes what openings name: labels, ports, names, and what it cannot say. Pure.

Read in cilium/cilium v1.20.2; versions by its upgrade notes.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from core.egress.destinations import PortRange
from core.egress.dns_names import ANY, WILDCARD
from core.kubernetes.label_selectors import Requirements
from egress.render.generated_objects import Json
from egress.render.target import Engine

PORT_RANGES: Final = (1, 17)
"""The first version with `endPort` in AKS."""
MANY_LABELS: Final = (1, 19)
"""The first version in which `**.` stands for one or more labels; `*` never crosses a dot
(pkg/fqdn/matchpattern). Before, `**` is read as `*`."""
LABELS_WRITTEN_OUT: Final = 8
"""Before 1.19 a wildcard is written once for each number of labels, up to so many."""
MAX_PORTS: Final = 40
"""Of an entry of `toPorts` (pkg/policy/api/rule_validation.go, maxPorts)."""

_LEFT_OUT: Final = re.compile(
    r"io\.kubernetes|kubernetes\.io|statefulset\.kubernetes\.io/pod-name"
    r"|apps\.kubernetes\.io/pod-index|batch\.kubernetes\.io/job-completion-index"
    r"|batch\.kubernetes\.io/controller-uid|.*beta\.kubernetes\.io|k8s\.io"
    r"|pod-template-generation|pod-template-hash|controller-revision-hash|controller-uid"
    r"|annotation|etcd_node|topology\.kubernetes\.io"
)
"""Beginnings of labels that are in no identity (pkg/labelsfilter, defaultLabelPrefixCfg)."""


def unseen_label(requirements: Requirements) -> str:
    """Give a label that Cilium does not see on Pods, if a selector has one; else nothing.

    `NotIn` and `DoesNotExist` of such a label would be true of every Pod.
    """
    return next((each.key for each in requirements if _LEFT_OUT.match(each.key)), "")


def selector(requirements: Requirements, **labels: str) -> Json:
    """Give an endpoint selector; `k8s:` keeps labels of other sources apart."""
    found: Json = {}
    if labels:
        found["matchLabels"] = {f"k8s:{key}": value for key, value in labels.items()}
    if requirements:
        found["matchExpressions"] = [
            {**each.written(), "key": f"k8s:{each.key}"} for each in requirements
        ]
    return found


def of_namespace(namespace: str, requirements: Requirements) -> Json:
    """Give the selector of Pods of a namespace."""
    return selector(requirements, **{"io.kubernetes.pod.namespace": namespace})


def patterns(name: str, engine: Engine) -> list[Json]:
    """Give what matches a name or wildcard: in `toFQDNs`, and in rules of DNS."""
    if name == ANY:
        return [{"matchPattern": ANY}]
    if not name.startswith(WILDCARD):
        return [{"matchName": name}]
    parent = name.removeprefix(WILDCARD)
    if engine.version >= MANY_LABELS:
        return [{"matchPattern": f"**.{parent}"}]
    return [
        {"matchPattern": f"{WILDCARD * labels}{parent}"}
        for labels in range(1, LABELS_WRITTEN_OUT + 1)
    ]


def ports_of(ranges: Sequence[PortRange]) -> list[Json]:
    """Give `toPorts`."""
    written = [_port(each) for each in ranges]
    return [
        {"ports": written[start : start + MAX_PORTS]} for start in range(0, len(written), MAX_PORTS)
    ]


def _port(ports: PortRange) -> dict[str, Any]:
    end = {} if ports.first == ports.last else {"endPort": ports.last}
    return {"port": str(ports.first), **end, "protocol": ports.protocol}


def unsaid_ports(ranges: Sequence[PortRange], engine: Engine) -> Iterator[str]:
    """Yield why ports cannot be said, for a person."""
    if engine.version < PORT_RANGES and any(each.first != each.last for each in ranges):
        yield "ranges of ports need Cilium 1.17: name the ports one by one"
    if not engine.sctp and any(each.protocol == "SCTP" for each in ranges):
        yield "Cilium refuses policies with SCTP until it is turned on (sctp.enabled)"


def map_entries(ranges: Sequence[PortRange]) -> int:
    """Give how many entries of a policy map ports take: a range is cut into aligned blocks."""
    return sum(_blocks(each.first, each.last) for each in ranges)


def _blocks(first: int, last: int) -> int:
    found = 0
    while first <= last:
        size = first & -first or 1 << 16
        while size > last - first + 1:
            size >>= 1
        first, found = first + size, found + 1
    return found
