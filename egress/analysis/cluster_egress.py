"""The egress of a cluster at one moment, as commands look at it. Pure."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import msgspec

from core.approvals.break_glass import BreakGlass
from core.approvals.break_glass_egress import BreakGlassOpening, egress_opening, opened_pods
from core.base import names
from core.base.networks import Network
from core.base.sallyport_objects import Metadata
from core.decision.namespaces import Namespace
from core.egress.allowlists import EgressAllowlist, EgressDestinations
from core.egress.enrolment import WHOLLY_CLOSED, Closure, Enrolment
from core.egress.pod_labels import label_value, reserved_labels
from core.kubernetes.label_selectors import matches
from core.people.two_person import (
    ApprovalTerms,
    Approved,
    Consent,
    NotApproved,
    judge_approval,
    read_person,
    stays_open,
)
from egress.compiler.allowlists import compile_allowlists, not_approved_message
from egress.dns.learnt_names import LearntName, NamesSettings
from egress.dns.store import decode_names
from egress.dns.usable_addresses import LearntNames
from egress.limits.breadth import Limits, breadth_reasons, combined_breadth_reasons
from egress.model.facts import NO_TAGS, CompilerFacts, KnownService, TagSource
from egress.model.openings import CompiledAllowlists, Opening, Problem
from egress.render.engines import render
from egress.render.target import RenderedNamespace, RenderTarget
from kube.egress.pods import EgressPod
from kube.egress.snapshot import EgressSnapshot


@dataclass(frozen=True)
class EgressSettings:
    """What the operator has set."""

    now: float
    enrolment: Enrolment = field(default_factory=Enrolment)
    target: RenderTarget = field(default_factory=RenderTarget)
    limits: Limits = field(default_factory=Limits)
    tags: TagSource = NO_TAGS
    ranges: tuple[Network, ...] = ()
    """Of the cluster's Pods, Services and nodes."""
    names: NamesSettings = field(default_factory=NamesSettings)
    terms: ApprovalTerms = field(default_factory=ApprovalTerms)


@dataclass(frozen=True)
class EgressRights:
    """What the cluster said of rights."""

    usable: frozenset[tuple[str, str, str]] = frozenset()
    """Namespace, service account and set, where the one may `use` the other."""
    holders: frozenset[str] = frozenset()
    """UIDs of the approvals whose approver may approve egress now."""
    glass_holders: frozenset[str] = frozenset()
    """UIDs of those whose approver may approve BreakGlasses now."""


@dataclass(frozen=True)
class ClusterEgress:
    """What a cluster has, and what that means. What is derived is remembered with it."""

    snapshot: EgressSnapshot
    site: EgressSettings
    rights: EgressRights = field(default_factory=EgressRights)
    services: Mapping[tuple[str, str], KnownService] = field(default_factory=dict)
    """By namespace and name."""
    granted: bool = False
    """Whether every right and approval is taken as given."""
    closed: bool = False
    """Whether every namespace counts as enrolled."""
    _meanings: dict[str, CompiledAllowlists] = field(default_factory=dict, compare=False)
    _rendered: dict[str, RenderedNamespace] = field(default_factory=dict, compare=False)

    @cached_property
    def known(self) -> CompilerFacts:
        """What must be known beside the allowlists."""
        site, snapshot = self.site, self.snapshot
        closed = CompilerFacts(site.now, ranges=site.ranges).reserved
        return CompilerFacts(
            site.now,
            snapshot.sets,
            self._every_use() if self.granted else self.rights.usable,
            {} if self.granted else self.unapproved,
            None if self.granted or site.limits.approve == "none" else self.approved,
            self.services,
            LearntNames(self.learnt, closed, site.names),
            site.tags,
            site.ranges,
        )

    @cached_property
    def learnt(self) -> Mapping[str, LearntName]:
        """What was learnt of DNS names; usable or not."""
        return decode_names(self.snapshot.learnt).names

    @cached_property
    def unapproved(self) -> dict[str, str]:
        """Why what is broad, by itself or with others, opens nothing, by UID."""
        site = self.site
        here: dict[str, list[EgressAllowlist]] = defaultdict(list)
        for each in self.snapshot.allowlists.values():
            if each.in_time(site.now):
                here[each.meta.namespace].append(each)
        found: dict[str, str] = {}
        for some in here.values():
            found |= combined_breadth_reasons(some, site.limits, site.tags)
        whole: list[EgressAllowlist | EgressDestinations] = [*self.snapshot.allowlists.values()]
        for one in (*whole, *self.snapshot.sets.values()):
            if why := self._unapproved(one):
                found[one.meta.uid] = why
        return found

    @cached_property
    def approved(self) -> frozenset[str]:
        """What two people have approved as it is, by UID."""
        snapshot = self.snapshot
        whole: list[EgressAllowlist | EgressDestinations] = [*snapshot.allowlists.values()]
        return frozenset(
            each.meta.uid
            for each in (*whole, *snapshot.sets.values())
            if isinstance(self._approval(each), Approved)
        )

    def _approval(self, what: EgressAllowlist | EgressDestinations) -> Approved | NotApproved:
        site, consents = self.site, self._consents(what.meta)
        return judge_approval(what.approvable, consents, self.rights.holders, site.now, site.terms)

    def _unapproved(self, what: EgressAllowlist | EgressDestinations) -> str:
        site = self.site
        broad = "; ".join(breadth_reasons(what.spec.to, site.limits, site.tags))
        if not broad:
            return ""
        said = self._approval(what)
        if isinstance(said, Approved):
            return ""
        stored = what.meta.creation_timestamp is not None
        return not_approved_message(broad, said.reasons if stored else ())

    def enrolled(self, namespace: str) -> bool:
        """Return whether Pods of a namespace, or some, connect only where allowlists say."""
        return self.closure(namespace).closes

    def closure(self, namespace: str) -> Closure:
        """Return what of a namespace is closed but for what allowlists open."""
        if self.closed:
            return WHOLLY_CLOSED
        found = self.snapshot.namespaces.get(namespace, Namespace(namespace))
        return self.site.enrolment.closure(found)

    def closes(self, pod: EgressPod) -> bool:
        """Return whether a Pod connects only where allowlists say."""
        closure = self.closure(pod.namespace)
        return closure.closes and matches(closure.selects, pod.labels)

    def opened(self, namespace: str) -> tuple[BreakGlassOpening, ...]:
        """Return what BreakGlasses open of a namespace that is closed, or of what is closed."""
        if self.closed or not self.enrolled(namespace):
            return ()
        here = (each for each in self.snapshot.break_glasses if namespace in each.spec.namespaces)
        found = ((each, egress_opening(each)) for each in here)
        return tuple(opening for each, opening in found if opening and self._in_force(each))

    def opened_by(self, pod: EgressPod) -> tuple[BreakGlassOpening, ...]:
        """Return by which BreakGlasses a Pod connects everywhere."""
        return tuple(each for each in self.opened(pod.namespace) if each.holds(pod.labels))

    def _in_force(self, one: BreakGlass) -> bool:
        site = self.site
        opener = read_person(one.meta.annotation(names.ACTIVATED_BY_ANNOTATION))
        if one.began is None or not one.is_open(site.now):
            return False
        consents, holders = self._consents(one.meta), self.rights.glass_holders
        found = judge_approval(
            one.approvable, consents, holders, site.now, site.terms, endures=True
        )
        return isinstance(found, Approved) and stays_open(opener, one.began, site.terms)

    def allowlists(self, namespace: str) -> list[EgressAllowlist]:
        """Return the allowlists of a namespace, by name."""
        found = self.snapshot.allowlists.values()
        return sorted(
            (each for each in found if each.meta.namespace == namespace),
            key=lambda each: each.meta.name,
        )

    def whole_meaning(self, namespace: str) -> CompiledAllowlists:
        """Return the openings of a namespace, whether or not the engine can render them."""
        if namespace not in self._meanings:
            closure = self.closure(namespace)
            found = self.allowlists(namespace) if closure.closes else ()
            whole = compile_allowlists(namespace, found, self.known)
            narrowed = whole.narrowed(closure.selects)
            self._meanings[namespace] = narrowed.with_opened(opened_pods(self.opened(namespace)))
        return self._meanings[namespace]

    def rendered(self, namespace: str) -> RenderedNamespace:
        """Return the objects of an enrolled namespace, and what the engine cannot say."""
        if namespace not in self._rendered:
            target = replace_target(self.site.target, self.known)
            meaning = self.whole_meaning(namespace)
            self._rendered[namespace] = render(meaning, target)
        return self._rendered[namespace]

    def openings(self, namespace: str) -> tuple[Opening, ...]:
        """Return the openings of a namespace, as far as the engine can render them."""
        return self.rendered(namespace).openings

    def problems(self, namespace: str) -> tuple[Problem, ...]:
        """Return the problems: openings that stay closed, and warnings on the others."""
        rendered = self.rendered(namespace).problems if self.enrolled(namespace) else ()
        return tuple(sorted({*self.whole_meaning(namespace).problems, *rendered}))

    def pod(self, namespace: str, name: str) -> EgressPod | None:
        """Return a Pod that runs."""
        return self._pods.get((namespace, name))

    @cached_property
    def _pods(self) -> dict[tuple[str, str], EgressPod]:
        return {(each.namespace, each.name): each for each in self.snapshot.pods}

    def beside(self, namespace: str) -> list[tuple[EgressPod, str]]:
        """Return Pods of an enrolled namespace that no allowlist holds, each with the reason."""
        is_whole = self.closure(namespace).is_whole
        here = (pod for pod in self.snapshot.pods if pod.namespace == namespace)
        held = (pod for pod in here if is_whole or self.closes(pod))
        return [(pod, why) for pod in held if (why := unheld_reason(pod))]

    def with_snapshot(self, snapshot: EgressSnapshot, rights: EgressRights) -> "ClusterEgress":
        """Return the same cluster with other objects."""
        return ClusterEgress(snapshot, self.site, rights, self.services)

    def with_all_granted(self) -> "ClusterEgress":
        """Return the same cluster as it will be with every right and approval that is asked for."""
        return ClusterEgress(self.snapshot, self.site, self.rights, self.services, granted=True)

    def with_all_enrolled(self) -> "ClusterEgress":
        """Return the same cluster as it will be once every namespace is enrolled."""
        return replace(self, closed=True, _meanings={}, _rendered={})

    def with_nothing_over(self) -> "ClusterEgress":
        """Return the same cluster as if nothing had expired, and all had been granted."""
        site = replace(self.site, now=0.0)
        return replace(self, site=site, granted=True, _meanings={}, _rendered={})

    def _every_use(self) -> frozenset[tuple[str, str, str]]:
        return frozenset(
            (allowlist.meta.namespace, account, entry.destinations.name)
            for allowlist in self.snapshot.allowlists.values()
            for entry in allowlist.spec.to
            if entry.destinations
            for account in allowlist.spec.service_accounts
        )

    def _consents(self, meta: Metadata) -> list[Consent]:
        """Return the approvals of an object: those in its own namespace."""
        here = (each for each in self.snapshot.approvals if each.meta.namespace == meta.namespace)
        return [each.consent for each in here if each.consent and each.consent.uid == meta.uid]


def unheld_reason(pod: EgressPod) -> str:
    """Say why allowlists do not hold a Pod of an enrolled namespace, or do not reach it."""
    if pod.host_network:
        return "is on its node's network: no policy holds it"
    given = reserved_labels(pod.labels)
    account = label_value(pod.service_account)
    if names.EGRESS_ACCOUNT_LABEL not in given:
        return "has no labels of the gate's: all is closed to it until it is made anew"
    if given[names.EGRESS_ACCOUNT_LABEL] != account:
        return f"carries another label of the gate's than its service account's ({account})"
    return ""


def replace_target(target: RenderTarget, known: CompilerFacts) -> RenderTarget:
    """Return the target of rendering, with the ranges that are known."""
    return msgspec.structs.replace(target, reserved=known.reserved, ranges=known.ranges)
