"""Builds the loops of egress for `sallyport control`."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry

from app.settings.egress import (
    EgressSection,
    dns_log_of,
    enrolment_of,
    limits_of,
    names_of,
    ranges_of,
    target_of,
)
from app.settings.root import Settings
from app.wiring import terms_of
from audit.ledger.records.recorder import LedgerRecorder
from control.egress.approvals import Approvals
from control.egress.break_glass import BreakGlassOpenings
from control.egress.cluster_state import EgressState
from control.egress.desired_state import DesiredStates
from control.egress.dns_logs import DnsLogs, LogMessages
from control.egress.dns_pods import DnsPods
from control.egress.dns_refresh import DnsRefresh
from control.egress.dns_store import DnsStore
from control.egress.endings import Endings
from control.egress.eviction import Evictions
from control.egress.lookups import EgressLookups
from control.egress.loop import Egress
from control.egress.metrics import EgressMetrics
from control.egress.plan import Json
from control.egress.queue import NamespaceQueue
from control.egress.reconciler import ClusterPolicies, Reconciler
from control.egress.service_tags import TagFile
from control.egress.weight_openings import WeightOpenings
from control.egress.writer import PolicyWriter
from control.events import EventWriter
from core.base import names
from core.base.errors import SettingsError
from core.cluster import Cluster
from core.egress.enrolment import AUDIT, OPEN
from core.kubernetes.label_selectors import Requirement, Requirements, sort_requirements
from egress.dns.resolver import NameServer, Resolver, server_of, servers_of_system
from egress.dns.resolver_settings import ResolverSettings
from egress.model.facts import CompilerFacts
from egress.model.openings import CompiledAllowlists
from egress.render import clusternetworkpolicy
from egress.render.engines import render
from egress.render.target import Engine, RenderTarget
from kube.client.objects import Objects
from kube.cluster.access_reviews import Ask
from kube.egress.watch import EgressWatch

_RESOLV_CONF: Final = Path("/etc/resolv.conf")


def make_egress(  # noqa: PLR0913, PLR0917  Each is another part of the process.
    settings: Settings,
    objects: Objects,
    world: EgressWatch,
    cluster: Cluster,
    ask: Ask,
    registry: CollectorRegistry,
    recorder: LedgerRecorder | None = None,
) -> Egress:
    """Return the loops; `ask` puts access reviews to the cluster, each anew.

    Without a recorder nothing of them reaches the ledger.

    Raises:
        SettingsError: a setting of the section `egress` is wrong.
    """
    section = settings.egress
    target = target_of(section)
    terms = terms_of(settings, cluster)
    state = EgressState(world, enrolment_of(section, settings.namespace).closure)
    writer = PolicyWriter(objects)
    wanting = DesiredStates(
        state,
        EgressLookups(objects, world, ask, target.backend_ranges),
        Approvals(cluster, lambda: terms, limits_of(section)),
        lambda meaning: render(meaning, target),
        clusternetworkpolicy.render_passes if section.floor else _nothing,
    )
    queue, metrics = NamespaceQueue(), EgressMetrics(registry)
    glass = BreakGlassOpenings(cluster, lambda: terms)

    def touch(name: str) -> None:
        for each in sorted(state.referring("name", name)):
            queue.add(each, urgent=True)

    resolver = _resolver(section)
    naming = DnsRefresh(
        DnsStore(objects, settings.namespace),
        resolver,
        state.referred_names,
        touch,
        target.reserved,
        names_of(section),
        bursts=_burst_families(target.engine),
    )
    logs = _dns_logs(section, naming, metrics)
    reconciler = Reconciler(
        state,
        wanting,
        writer,
        Evictions(objects, writer),
        section.foreign_policies == "delete",
        WeightOpenings(objects, settings.namespace, cluster.weights),
        glass,
    )
    events = EventWriter(objects)
    return Egress(
        state,
        reconciler,
        naming,
        TagFile(section.tags),
        metrics,
        CompilerFacts(0.0, ranges=ranges_of(section)),
        ClusterPolicies(state, wanting, writer, _floor(section, settings.namespace, target)),
        queue,
        dns_pods=_dns_pods(section, objects, resolver, logs),
        dns_logs=logs,
        endings=Endings(
            state, events, metrics, objects, opened=reconciler.open_by_glass, recorder=recorder
        ),
    )


def enrolled_labels(section: EgressSection, own: str) -> Requirements:
    """Return which namespaces are enrolled as what their labels must be; `own` is Sallyport's.

    Where the default is `deny`, those that it leaves out and their own label enrols are not among
    them: labels cannot say "or". Their own policies close them.
    """
    labelled = Requirement(names.EGRESS_LABEL, "NotIn", (AUDIT, OPEN))
    if section.default == OPEN:
        return sort_requirements([labelled, Requirement(names.EGRESS_LABEL, "Exists")])
    never = tuple(sorted(enrolment_of(section, own).excluded))
    return sort_requirements([labelled, Requirement(names.NAMESPACE_NAME_LABEL, "NotIn", never)])


def _floor(
    section: EgressSection, own: str, target: RenderTarget
) -> Callable[[], tuple[Json, ...]]:
    if not section.floor:
        return tuple
    policies = clusternetworkpolicy.render_floor(enrolled_labels(section, own), target.dns)
    return lambda: policies


def _nothing(_: CompiledAllowlists) -> tuple[Json, ...]:
    return ()


def _burst_families(engine: Engine) -> tuple[int, ...]:
    """Return for which addresses names are asked in bursts."""
    if engine.learns_names:
        return ()
    return tuple(each for each in (4, 6) if f"IPv{each}" in engine.ip_families)


def _dns_logs(section: EgressSection, naming: DnsRefresh, metrics: EgressMetrics) -> DnsLogs | None:
    """Return what follows the logs of DNS; None where none is set.

    Raises:
        SettingsError: something is missing without which they cannot be read.
    """
    settings = dns_log_of(section)
    return DnsLogs(settings, LogMessages(naming, metrics), metrics) if settings else None


def _dns_pods(
    section: EgressSection, objects: Objects, resolver: Resolver, logs: DnsLogs | None
) -> DnsPods | None:
    """Return what finds the Pods of DNS; None where they are not to be asked."""
    if not section.resolver.pods:
        return None
    others = ((each.namespace, each.labels) for each in section.dns.others)
    where = ((section.dns.namespace, section.dns.labels), *others)
    tell_pods = logs.set_pods if logs else None
    return DnsPods(objects, where, section.dns.port, resolver.set_pods, tell_pods)


def _resolver(section: EgressSection) -> Resolver:
    resolver = section.resolver
    settings = ResolverSettings(resolver.timeout, resolver.tries, resolver.at_once)
    return Resolver(_servers(resolver.servers), settings)


def _servers(texts: Iterable[str]) -> tuple[NameServer, ...]:
    """Return the servers that are set, or those of the Pod itself.

    Raises:
        SettingsError: one is no address, or there are none.
    """
    if named := tuple(map(server_of, texts)):
        return named
    try:
        return servers_of_system(_RESOLV_CONF.read_text())
    except OSError as error:
        message = f"egress.resolver.servers: {_RESOLV_CONF} cannot be read ({error.strerror})"
        raise SettingsError(message) from None
