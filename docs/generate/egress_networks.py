"""Makes the table of docs/operate/egress-aks.md from what is rendered for each AKS network.

python -m docs.generate.egress_networks [--check]

The text around it is written by hand. With `--check` nothing is written, and the exit code is 1 if
the page is stale.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import yaml

from core.base import names
from core.base.networks import network_of
from core.egress.destinations import PortRange
from core.kubernetes.label_selectors import Requirement
from egress.model.openings import (
    Addresses,
    Backend,
    Block,
    CompiledAllowlists,
    Name,
    Opening,
    Peer,
    Pods,
    Service,
)
from egress.model.reserved_ranges import ALWAYS_RESERVED
from egress.render.engines import render
from egress.render.target import Dns, Engine, RenderTarget

PAGE: Final = Path(__file__).parents[1] / "operate" / "egress-aks.md"

_BLOCK: Final = re.compile(r"(<!-- made -->\n).*?(<!-- end -->)", re.DOTALL)
SELECTS: Final = (Requirement(names.EGRESS_ACCOUNT_LABEL, "In", ("trainer",)),)
_HTTPS: Final = (PortRange("TCP", 443, 443),)
_PODS: Final = network_of("10.244.0.0/16")
_NODES: Final = network_of("10.224.0.0/16")
_RANGES: Final = (_PODS, network_of("10.0.0.0/16"), _NODES)
_LOCAL_DNS: Final = Dns(addresses=(network_of("169.254.10.10/32"), network_of("169.254.10.11/32")))
_SEARCH: Final = ("*.*.internal.cloudapp.net",)

_CNI: Final = "azure-cni-powered-by-cilium.md"
_FQDN: Final = "how-to-apply-fqdn-filtering-policies.md"
_KUBERNETES: Final = "Kubernetes, Network Policies"


class AksNetwork(NamedTuple):
    """A network as AKS sells it, with the settings for it."""

    title: str
    engine: Engine
    dns: Dns = Dns()


_NPM: Final = Engine("networkpolicy", ip_families=("IPv4",))
_ACNS: Final = Engine("cilium-aks", (1, 18))
_BASIC: Final = Engine("cilium-aks-basic", (1, 18))

NETWORKS: Final = (
    AksNetwork("Azure CNI, Azure NPM", _NPM),
    AksNetwork("Azure CNI, Azure NPM, LocalDNS", _NPM, _LOCAL_DNS),
    AksNetwork("Azure CNI, Calico", Engine()),
    AksNetwork("Azure CNI, Calico, LocalDNS", Engine(), _LOCAL_DNS),
    AksNetwork("Cilium with ACNS security", _ACNS, Dns(search=_SEARCH)),
    AksNetwork("Cilium without ACNS security", _BASIC),
    AksNetwork("Cilium, LocalDNS", _BASIC, _LOCAL_DNS),
)


class EgressNeed(NamedTuple):
    """What a training job needs, and where it is said that the rules for it work."""

    title: str
    peer: Peer | None
    """None: the cluster's DNS, which every namespace gets."""
    ports: tuple[PortRange, ...]
    sources: Mapping[str, str]
    """By kind of engine."""


_OF_POLICY: Final = {"networkpolicy": _KUBERNETES}
_BY_CIDR: Final = {
    **_OF_POLICY,
    "cilium-aks": "Cilium, Layer 3 Policies: CIDR",
    "cilium-aks-basic": "Cilium, Layer 3 Policies: CIDR",
}

NEEDS: Final = (
    EgressNeed(
        "The Kubernetes API",
        Service(
            *("default", "kubernetes"),
            (),
            (Backend((PortRange("TCP", 443, 443),), (network_of("20.50.1.2/32"),)),),
            is_api_server=True,
        ),
        _HTTPS,
        {
            **_OF_POLICY,
            "cilium-aks": "cilium/cilium#32464",
            "cilium-aks-basic": "cilium/cilium#32464",
        },
    ),
    EgressNeed(
        "DNS",
        None,
        (),
        {**_OF_POLICY, "cilium-aks": _FQDN, "cilium-aks-basic": "localdns-custom.md"},
    ),
    EgressNeed(
        "A private endpoint in the nodes' subnet, by name, with `within`",
        Name("weights.blob.example.net", (network_of("10.224.0.9/32"),), pinned=True),
        _HTTPS,
        _BY_CIDR,
    ),
    EgressNeed(
        "A name",
        Name(
            "packages.example.org", (network_of("198.51.100.9/32"), network_of("2001:db8::9/128"))
        ),
        _HTTPS,
        {**_BY_CIDR, "cilium-aks": _FQDN},
    ),
    EgressNeed("A wildcard", Name("*.example.com", ()), _HTTPS, {**_BY_CIDR, "cilium-aks": _FQDN}),
    EgressNeed(
        "A network",
        Addresses((Block(network_of("203.0.113.0/24")),)),
        _HTTPS,
        _BY_CIDR,
    ),
    EgressNeed(
        "A Service",
        Service(
            *("data", "catalogue"),
            (Requirement("app", "In", ("catalogue",)),),
            (Backend((PortRange("TCP", 8080, 8080),), (network_of("10.244.3.4/32"),)),),
        ),
        (PortRange("TCP", 80, 80),),
        {**_OF_POLICY, "cilium-aks": _CNI, "cilium-aks-basic": _CNI},
    ),
    EgressNeed(
        "A gang: every port between the Pods of a job",
        Pods("research", (Requirement("job-name", "In", ("train",)),)),
        (PortRange("TCP", 1, 65535),),
        {**_OF_POLICY, "cilium-aks": _CNI, "cilium-aks-basic": _CNI},
    ),
)


def main() -> int:
    """Write the page, or check it. Gives the exit code."""
    before = PAGE.read_text()
    after = _BLOCK.sub(lambda match: match[1] + "".join(_lines()) + match[2], before)
    if "--check" in sys.argv:
        if after != before:
            message = f"{PAGE.name} is stale; run: python -m docs.generate.egress_networks"
            print(message, file=sys.stderr)
        return int(after != before)
    PAGE.write_text(after)
    return 0


def target_of(network: AksNetwork) -> RenderTarget:
    """Return what is rendered for a network, with ranges as AKS has them by default."""
    reserved = (*ALWAYS_RESERVED, *_RANGES)
    return RenderTarget(network.engine, network.dns, reserved, _RANGES, (_PODS,), (_NODES,))


def rules_of(network: AksNetwork, need: EgressNeed) -> tuple[str, list[Any]]:
    """Return the rules of egress that are rendered for a need, and else why there is none."""
    openings: tuple[Opening, ...] = ()
    if need.peer is not None:
        openings = (Opening("job", "spec.to[0]", SELECTS, need.peer, need.ports),)
    found = render(CompiledAllowlists("research", openings), target_of(network))
    chosen = "sallyport-dns" if need.peer is None else "sallyport-allow-"
    rules = [
        rule
        for item in found.objects
        if item["metadata"]["name"].startswith(chosen)
        for rule in item["spec"].get("egress", ())
    ]
    return next((each.message for each in found.problems if each.closes), ""), rules


def _lines() -> Iterator[str]:
    for need in NEEDS:
        yield f"### {need.title}\n\n"
        shown: dict[str, list[str]] = {}
        for network in NETWORKS:
            refusal, rules = rules_of(network, need)
            source = need.sources[network.engine.kind]
            said = _yaml(rules, source) if rules else f"Refused: {refusal}.\n"
            shown.setdefault(said, []).append(network.title)
        for said, titles in shown.items():
            yield f"**{'; '.join(titles)}**\n\n{said}\n"


def _yaml(rules: list[Any], source: str) -> str:
    text = yaml.safe_dump(
        msgspec.json.decode(msgspec.json.encode(rules)),  # Else what is the same is written once.
        default_flow_style=None,
        sort_keys=False,
        width=100,
    )
    return f"```yaml\n{text}```\n\nSource: {source}.\n"


if __name__ == "__main__":
    sys.exit(main())
