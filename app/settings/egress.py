"""The section `egress` of the settings: what enforces policies, and what the cluster is like."""

from pathlib import Path
from typing import Annotated, Final, Literal

import structlog
from pydantic import Field

from app.settings.section import Section
from core.base.errors import InvalidObjectError, SettingsError
from core.base.networks import Network, collapse, holds, parse_network
from core.base.process_names import CONTROL
from core.egress.enrolment import Enrolment
from core.kubernetes.label_selectors import Requirement, sort_requirements
from core.people.subject import service_account_subject
from egress.dns.learnt_names import NamesSettings
from egress.dns.log_settings import DnsLogSettings
from egress.dns.resolver_settings import ResolverSettings
from egress.limits.breadth import Approve, Limits
from egress.limits.settings import IntentSettings
from egress.model.facts import NO_TAGS, CompilerFacts, TagSource
from egress.model.openings import Pods
from egress.model.reserved_ranges import METADATA
from egress.render.target import BOTH_FAMILIES, Dns, Engine, EngineKind, IpFamily, RenderTarget
from egress.service_tags import parse_service_tags

_LIMITS: Final = Limits()
_NAMES: Final = NamesSettings()
_RESOLVER: Final = ResolverSettings()
_DNS: Final = Dns()
_ENGINE: Final = Engine()

_SEARCHED: Final[dict[EngineKind, tuple[str, ...]]] = {"cilium-aks": ("*.*.internal.cloudapp.net",)}
"""What nodes append where nobody said: Azure's DNS gives each virtual network two labels of it."""

OF_CLUSTER: Final = frozenset({"kube-node-lease", "kube-public", "kube-system"})
"""Namespaces that only their own label enrols: without DNS and the like no other one works."""

_LEAST_DNS_PREFIX: Final = {4: 24, 6: 120}

_Networks = list[Annotated[str, Field(max_length=64)]]
_DNS_LABEL: Final = "[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?"
_SearchDomain = Annotated[str, Field(pattern=rf"^((\*|{_DNS_LABEL})\.)*{_DNS_LABEL}$")]
_Label = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", max_length=63)]

_log = structlog.get_logger(__name__)


class EgressRanges(Section):
    """The cluster's own addresses: closed unless an allowlist names them."""

    pods: _Networks = Field(default_factory=list, description="Networks of Pods.")
    services: _Networks = Field(default_factory=list, description="Networks of Services.")
    nodes: _Networks = Field(
        default_factory=list, description="Networks of nodes, with their kubelets."
    )


class EgressDnsPods(Section):
    """Pods that answer DNS."""

    namespace: _Label = Field(description="Where they are.")
    labels: dict[str, str] = Field(min_length=1, description="Labels that they have, all of them.")


class EgressDns(Section):
    """The cluster's DNS: what every Pod of an enrolled namespace may ask."""

    namespace: _Label = Field(_DNS.pods[0].namespace, description="Where its Pods are.")
    labels: dict[str, str] = Field(
        {each.key: each.values[0] for each in _DNS.pods[0].requirements},
        description="Labels that its Pods have, all of them.",
    )
    others: list[EgressDnsPods] = Field(
        default_factory=list,
        description="More Pods that answer, such as NodeLocal DNSCache behind a redirect policy.",
    )
    addresses: _Networks = Field(
        default_factory=list,
        description="Also open, such as that of NodeLocal DNSCache (`169.254.20.10/32`) or AKS "
        "LocalDNS (`169.254.10.10/32`, `169.254.10.11/32`).",
    )
    port: int = Field(_DNS.port, ge=1, le=65535, description="Its port, UDP and TCP.")
    domain: str = Field(_DNS.domain, description="The cluster's own zone.")
    search: list[_SearchDomain] = Field(
        default_factory=list,
        description="What else is in the search list of Pods, where a label may be `*`; for "
        "engines that filter names. Empty on `cilium-aks`: `*.*.internal.cloudapp.net`.",
    )


class EgressResolver(Section):
    """Who is asked what DNS names resolve to: the servers that Pods ask, or those behind them."""

    servers: list[str] = Field(
        default_factory=list,
        description="Addresses, each asked for every name; without any, those of the Pod itself "
        "(`/etc/resolv.conf`).",
    )
    pods: bool = Field(
        default=True,
        description="Whether each Pod of `egress.dns` is asked besides: each caches for itself.",
    )
    timeout: float = Field(
        _RESOLVER.timeout_s, ge=0.1, le=30, description="Seconds for one question to one server."
    )
    tries: int = Field(_RESOLVER.tries, ge=1, le=10, description="Questions until it has failed.")
    at_once: int = Field(
        _RESOLVER.at_once, ge=1, le=1000, description="Questions under way, to all servers."
    )


class EgressDnsLog(Section):
    """The dnstap log of each Pod of `egress.dns`, of which hints are taken when to ask for names.

    Off unless `server_name` is set; then all others are needed.
    """

    server_name: str = Field(
        "",
        pattern=rf"^(({_DNS_LABEL}\.)*{_DNS_LABEL})?$",
        max_length=253,
        description="Which name the certificate of each Pod of `egress.dns` must have; empty: no "
        "log of theirs is read.",
    )
    port: int = Field(
        6053, ge=1, le=65535, description="Where these Pods listen for readers of their logs, TCP."
    )
    ca: Path | None = Field(None, description="PEM of the authority of these Pods' certificates.")
    cert: Path | None = Field(None, description="PEM of the certificate that these Pods are shown.")
    key: Path | None = Field(None, description="PEM of its key.")


class EgressNames(Section):
    """How long addresses of names are kept, and how often names are asked for."""

    window: float = Field(
        _NAMES.window_s,
        ge=60,
        le=86400,
        description="Seconds for which an address stays after it was last seen.",
    )
    min_refresh: float = Field(
        _NAMES.min_refresh_s, ge=1, le=3600, description="No name is asked for more often."
    )
    max_refresh: float = Field(
        _NAMES.max_refresh_s, ge=1, le=3600, description="Each name is asked for at least so often."
    )
    max_addresses: int = Field(
        _NAMES.max_addresses, ge=1, le=4096, description="Of one name; beyond it the oldest go."
    )
    quiet: float = Field(
        _NAMES.quiet_s,
        ge=0,
        le=3600,
        description="A new name is asked for in a burst, each answer anew when its TTL ends, until "
        "no new address has come for so many seconds.",
    )
    burst_questions: float = Field(
        _NAMES.burst_questions,
        ge=1,
        le=10_000,
        description="Questions a second in bursts, of all names together.",
    )
    burst_name_questions: float = Field(
        _NAMES.burst_name_questions, ge=1, le=1000, description="The same of one name."
    )


class EgressLimits(Section):
    """How broad destinations may be without the approval of two people."""

    ipv4_prefix: int = Field(
        _LIMITS.ipv4_prefix,
        ge=0,
        le=32,
        description="All IPv4 networks of an object together hold at most as much as one of these.",
    )
    ipv6_prefix: int = Field(_LIMITS.ipv6_prefix, ge=0, le=128, description="The same of IPv6.")
    wildcard_labels: int = Field(
        _LIMITS.wildcard_labels,
        ge=1,
        le=10,
        description="A wildcard has at least so many labels after it.",
    )
    ports: int = Field(
        _LIMITS.ports,
        ge=1,
        le=65535,
        description="All ports of an object, of one protocol, are together at most so many; beside "
        "those of its own namespace.",
    )
    service_tags: list[str] = Field(
        sorted(_LIMITS.service_tags), description="Service tags that always need approval."
    )


class EgressSection(Section):
    """Where Pods may connect."""

    default: Literal["open", "deny"] = Field(
        "open", description="For namespaces without the label `sallyport.dev/egress`."
    )
    approve: Approve = Field(
        _LIMITS.approve,
        description="Which allowlists and sets two people approve: `all`, what is `broad` (by "
        "`egress.limits`, or shared with strangers), or `none`.",
    )
    excluded: list[_Label] = Field(
        default_factory=list,
        description="Namespaces that are never enrolled by `default`: those of the cluster itself.",
    )
    engine: EngineKind = Field(_ENGINE.kind, description="What enforces policies.")
    cilium_version: str = Field(
        ".".join(map(str, _ENGINE.version)),
        pattern=r"^[0-9]+\.[0-9]+$",
        description="Which Cilium, for engines that are one.",
    )
    ip_families: list[IpFamily] = Field(
        list(_ENGINE.ip_families),
        min_length=1,
        description="What it enforces: `[IPv4]` for Azure NPM, which drops a policy that holds an "
        "IPv6 address.",
    )
    sctp: bool = Field(_ENGINE.sctp, description="Whether Cilium knows SCTP (`sctp.enabled`).")
    floor: bool = Field(
        default=False,
        description="Also keep ClusterNetworkPolicies that close enrolled namespaces and reserved "
        "addresses for the whole cluster; the engine must know them.",
    )
    foreign_policies: Literal["tell", "delete"] = Field(
        "tell",
        description="What becomes of others' NetworkPolicies, in enrolled namespaces, that open "
        "what no allowlist says (any more): an Event, or their egress is deleted too.",
    )
    tags: Path | None = Field(
        None, description="Azure's file of service tags (`ServiceTags_Public_*.json`)."
    )
    ranges: EgressRanges = EgressRanges()
    dns: EgressDns = EgressDns()
    resolver: EgressResolver = EgressResolver()
    dns_log: EgressDnsLog = EgressDnsLog()
    names: EgressNames = EgressNames()
    limits: EgressLimits = EgressLimits()


def enrolment_of(section: EgressSection, own: str) -> Enrolment:
    """Return which namespaces are enrolled; `own` is Sallyport's."""
    never = OF_CLUSTER | {own, *section.excluded}
    return Enrolment(section.default == "deny", never)


def ranges_of(section: EgressSection) -> tuple[Network, ...]:
    """Return the cluster's own networks.

    Raises:
        SettingsError: one is none.
    """
    fields = (
        ("pods", section.ranges.pods),
        ("services", section.ranges.services),
        ("nodes", section.ranges.nodes),
    )
    return collapse(
        each for name, texts in fields for each in _networks(texts, f"egress.ranges.{name}")
    )


def engine_of(section: EgressSection) -> Engine:
    """Return what enforces policies."""
    major, _, minor = section.cilium_version.partition(".")
    families = tuple(each for each in BOTH_FAMILIES if each in section.ip_families)
    return Engine(section.engine, (int(major), int(minor)), section.sctp, families)


def target_of(section: EgressSection) -> RenderTarget:
    """Return what policies are rendered for.

    Raises:
        SettingsError: a network is none, or the engine cannot do what DNS demands.
    """
    engine, dns, ranges = engine_of(section), _dns_of(section), ranges_of(section)
    if engine.kind == "cilium-aks" and dns.is_on_node:
        raise SettingsError(
            "egress.engine: cilium-aks opens names as Cilium sees DNS answer, and what answers on "
            "the node (egress.dns.addresses: AKS LocalDNS, NodeLocal DNSCache) goes around it "
            "(github.com/Azure/AKS issue 5864): set egress.engine to cilium-aks-basic, where names "
            "go by the addresses learnt of them, or remove what answers on the node"
        )
    return RenderTarget(
        engine,
        dns,
        CompilerFacts(0.0, ranges=ranges).reserved,
        ranges,
        collapse(_networks(section.ranges.pods, "egress.ranges.pods")),
        collapse(_networks(section.ranges.nodes, "egress.ranges.nodes")),
    )


def _dns_addresses(section: EgressSection) -> tuple[Network, ...]:
    """Return what is named of DNS by address; servers, and no network that holds metadata."""
    found = _networks(section.dns.addresses, "egress.dns.addresses")
    for each in found:
        wide = each.prefixlen < _LEAST_DNS_PREFIX[each.version]
        if wide or any(holds(each, one) for one in METADATA):
            raise SettingsError(
                f"egress.dns.addresses: {each}: no guard denies them to any Pod: name the servers "
                "(a /24 or /120 at most, without the metadata service's address)"
            )
    return tuple(found)


def _dns_of(section: EgressSection) -> Dns:
    own = EgressDnsPods(namespace=section.dns.namespace, labels=section.dns.labels)
    pods = (
        Pods(
            each.namespace,
            sort_requirements(
                Requirement(key, "In", (value,)) for key, value in each.labels.items()
            ),
        )
        for each in (own, *section.dns.others)
    )
    return Dns(
        tuple(pods),
        _dns_addresses(section),
        section.dns.port,
        section.dns.domain,
        tuple(section.dns.search) or _SEARCHED.get(section.engine, ()),
    )


def limits_of(section: EgressSection) -> Limits:
    """Return how broad destinations may be.

    Raises:
        SettingsError: a network of the cluster's is none.
    """
    limits = section.limits
    tags = frozenset(limits.service_tags)
    return Limits(
        limits.ipv4_prefix,
        limits.ipv6_prefix,
        limits.wildcard_labels,
        tags,
        limits.ports,
        ranges_of(section),
        section.approve,
    )


def names_of(section: EgressSection) -> NamesSettings:
    """Return how names are kept.

    Raises:
        SettingsError: they contradict one another.
    """
    names = section.names
    return NamesSettings(
        names.window,
        names.min_refresh,
        names.max_refresh,
        names.max_addresses,
        names.quiet,
        names.burst_questions,
        names.burst_name_questions,
    )


def dns_log_of(section: EgressSection) -> DnsLogSettings | None:
    """Return how the logs of the cluster's DNS are read; None where they are not.

    Raises:
        SettingsError: something is missing without which they cannot be, or would do nothing.
    """
    log, problem = section.dns_log, _dns_log_problem(section)
    if problem:
        raise SettingsError(problem)
    if not (log.server_name and log.ca and log.cert and log.key):
        return None
    return DnsLogSettings(log.server_name, log.port, log.ca, log.cert, log.key)


def _dns_log_problem(section: EgressSection) -> str:
    log = section.dns_log
    files = {"ca": log.ca, "cert": log.cert, "key": log.key}
    given = [name for name, path in files.items() if path]
    if not log.server_name:
        if not given:
            return ""
        return (
            f"egress.dns_log.server_name: missing, though {given[0]} is set: name whom the "
            "certificates of the cluster's DNS are for, or remove the section"
        )
    if missing := [name for name in files if name not in given]:
        return (
            f"egress.dns_log.{missing[0]}: missing: a log is read only where both ends show a "
            "certificate: set ca, cert and key, or remove egress.dns_log.server_name"
        )
    if not section.resolver.pods:
        return (
            "egress.dns_log: nobody looks for the Pods of the cluster's DNS: set "
            "egress.resolver.pods to true, or remove egress.dns_log.server_name"
        )
    if engine_of(section).learns_names:
        return (
            f"egress.dns_log: {section.engine} learns names by itself, so a log is of no use: "
            "remove egress.dns_log.server_name"
        )
    return ""


def _networks(texts: list[str], field: str) -> list[Network]:
    try:
        return [parse_network(text, field="", what=field) for text in texts]
    except InvalidObjectError as error:
        raise SettingsError(str(error)) from None


def intent_settings_of(section: EgressSection, own: str) -> IntentSettings:
    """Return what intents are judged by when they are written; `own` is Sallyport's namespace.

    Raises:
        SettingsError: a network of the cluster is none.
    """
    return IntentSettings(
        limits=limits_of(section),
        tags=_tags(section.tags),
        knows_names=engine_of(section).learns_names,
        enrolment=enrolment_of(section, own),
        ranges=ranges_of(section),
        compares=not engine_of(section).is_cilium,
        control=service_account_subject(own, CONTROL).username,
    )


def _tags(path: Path | None) -> TagSource:
    """Read the file of service tags; a gate works without, and tags then count for nothing.

    The controller reads it again whenever it changes, and it alone opens anything.
    """
    if path is None:
        return NO_TAGS
    try:
        return parse_service_tags(path.read_bytes())
    except (OSError, InvalidObjectError) as error:
        said = str(error) if isinstance(error, InvalidObjectError) else type(error).__name__
        _log.error("the file of service tags cannot be read", problem=said)
        return NO_TAGS
