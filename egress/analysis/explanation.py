"""Explains whether one connection is open, by which entry, or what is missing. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

import msgspec

from core.approvals.break_glass_egress import BreakGlassOpening
from core.base import names
from core.base.networks import any_holds, single_address_network
from core.base.sallyport_objects import Metadata
from core.egress.allowlists import AllowlistSpec, EgressAllowlist
from core.egress.destinations import Destination, PortRange, SetName
from core.egress.pod_labels import label_value
from core.kubernetes.label_selectors import matches
from core.people.two_person import Approvable
from egress.analysis.cluster_egress import ClusterEgress, replace_target, unheld_reason
from egress.analysis.connection import (
    ConnectionTarget,
    excepted_networks,
    is_dns,
    is_reserved,
    pods_entry,
    reached_ends,
)
from egress.compiler.allowlists import compile_allowlists
from egress.model.descriptions import describe_networks, describe_ports, set_of, subjects_of
from egress.model.openings import Opening, Service
from egress.model.reserved_ranges import ALWAYS_RESERVED
from egress.render.engines import render
from kube.egress.pods import EgressPod
from kube.egress.service_endpoints import API_SERVER

FORMAT: Final = 1

_NEVER: Final = "9999-12-31T23:59:59Z"
_MOST_NEAR: Final = 12


class CitedIntent(msgspec.Struct, frozen=True, rename="camel"):
    """An intent that opens it."""

    allowlist: str
    path: str
    owner: str
    reason: str
    expires_at: str


class NearMiss(msgspec.Struct, frozen=True):
    """What nearly opens it, or what stands in its way."""

    what: str
    """The intent or the part of the cluster that is meant."""
    why: str
    enough: bool = False
    """Whether to mend this opens it: then no entry must be added."""
    set: str = ""
    """The EgressDestinations that has it and may be used."""


class Explanation(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The answer (`sallyport egress explain -o json`)."""

    format: int = FORMAT
    pod: str
    service_account: str
    to: str
    port: str
    verdict: Literal["open", "partly", "closed", "unlimited"]
    """`partly`: to some of its addresses; `unlimited`: no intent holds this Pod."""
    why: str
    by: list[CitedIntent] = []
    open_addresses: list[str] = []
    closed_addresses: list[str] = []
    near: list[NearMiss] = []
    add: dict[str, Any] | None = None
    """The smallest entry of `spec.to` that would open it."""
    warnings: list[str] = []


def explain(pod: EgressPod, aim: ConnectionTarget, world: ClusterEgress) -> Explanation:
    """Answer for one Pod and one connection."""
    base = Explanation(
        pod=pod.key,
        service_account=pod.service_account,
        to=aim.host,
        port=str(aim.port),
        verdict="unlimited",
        why="",
    )
    if pod.host_network:
        why = "the Pod is on its node's network, where no policy holds it"
        return msgspec.structs.replace(base, why=why)
    if not world.enrolled(pod.namespace):
        audited = world.closure(pod.namespace).labels_pods
        how = "is audited, and nothing of it closed" if audited else "is not enrolled"
        why = f"namespace {pod.namespace} {how}: its Pods connect everywhere"
        return msgspec.structs.replace(base, why=why)
    if not world.closes(pod):
        why = f"namespace {pod.namespace} is audited, and the Pod is of no workload that is closed"
        return msgspec.structs.replace(base, why=why)
    if is_dns(aim, world):
        why = "the cluster's DNS is open to every Pod of an enrolled namespace (sallyport-dns)"
        return msgspec.structs.replace(base, verdict="open", why=why)
    found = _by_openings(base, pod, aim, world)
    glass = world.opened_by(pod)
    return _by_break_glass(found, glass, aim) if glass and found.verdict != "open" else found


def _by_break_glass(
    found: Explanation, glass: Sequence[BreakGlassOpening], aim: ConnectionTarget
) -> Explanation:
    """Return the answer for a Pod that connects to all but what is reserved everywhere."""
    kept = [
        str(each.address)
        for each in aim.ends
        if any_holds(ALWAYS_RESERVED, single_address_network(each.address))
    ]
    closed = [each for each in found.closed_addresses if each in kept]
    opened = [str(each.address) for each in aim.ends if str(each.address) not in closed]
    why = "; ".join(f"the Pod connects {each.reach}" for each in glass)
    if closed:
        why = f"{why}; what is reserved an allowlist must name"
    if closed and not opened:
        return msgspec.structs.replace(found, why=why)
    return msgspec.structs.replace(
        found,
        verdict="partly" if closed else "open",
        why=why,
        open_addresses=opened,
        closed_addresses=closed,
        near=[],
        add=None,
    )


def _by_openings(
    base: Explanation, pod: EgressPod, aim: ConnectionTarget, world: ClusterEgress
) -> Explanation:
    mine = [each for each in world.openings(pod.namespace) if matches(each.selects, pod.labels)]
    hits = [(opening, found) for opening in mine if (found := reached_ends(aim, opening, world))]
    places = frozenset().union(*(found for _, found in hits))
    texts = [str(end.address) for end in aim.ends]
    opened = [text for place, text in enumerate(texts) if place in places]
    closed = [text for place, text in enumerate(texts) if place not in places]
    explanation = msgspec.structs.replace(
        base,
        by=[_cited(opening, pod.namespace, world) for opening, _ in hits],
        open_addresses=opened,
        closed_addresses=closed,
    )
    if hits and not closed:
        return msgspec.structs.replace(explanation, verdict="open", why="an intent opens it")
    near = [*_labels(pod), *_near(_as_made_anew(pod), aim, world)]
    why = "no intent opens it" if not hits else "intents open some of its addresses"
    if not aim.ends and not hits:
        why += "; none of its addresses is known"
    return msgspec.structs.replace(
        explanation,
        verdict="partly" if hits else "closed",
        why=why,
        near=list(dict.fromkeys(near))[:_MOST_NEAR],
        add=None if any(each.enough for each in near) else _to_add(near, aim, world),
        warnings=list(_warnings(aim, world)),
    )


def _cited(opening: Opening, namespace: str, world: ClusterEgress) -> CitedIntent:
    spec = world.snapshot.allowlists[f"{namespace}/{opening.allowlist}"].spec
    return CitedIntent(opening.allowlist, opening.path, spec.owner, spec.reason, spec.expires_at)


def _labels(pod: EgressPod) -> Iterator[NearMiss]:
    if why := unheld_reason(pod):
        yield NearMiss(f"Pod {pod.key}", why)


def _as_made_anew(pod: EgressPod) -> EgressPod:
    """Return a Pod as the gate would label it, where it has no label of the gate's."""
    label = {names.EGRESS_ACCOUNT_LABEL: label_value(pod.service_account)}
    return msgspec.structs.replace(pod, labels={**label, **pod.labels})


def _near(pod: EgressPod, aim: ConnectionTarget, world: ClusterEgress) -> Iterator[NearMiss]:
    """Yield what nearly opens it, what is likeliest to be meant first."""
    ideal = world.with_nothing_over()
    now = set(world.openings(pod.namespace))
    openings = ideal.whole_meaning(pod.namespace).openings
    for opening in openings:
        what = f"{opening.allowlist} {opening.path}"
        mine = matches(opening.selects, pod.labels)
        if reached_ends(aim, opening, ideal):
            if not mine:
                yield NearMiss(what, _for_others(opening, pod))
            elif opening not in now:
                yield from _not_in_force(opening, what, pod.namespace, world)
            else:
                yield NearMiss(
                    what, "opens it, but for Pods with labels of the gate's", enough=True
                )
        elif reached_ends(aim, opening, ideal, any_port=True):
            also = "" if mine else f", and {_for_others(opening, pod)}"
            yield NearMiss(
                what, f"opens {describe_ports(opening.ports)} there, not {aim.port}{also}"
            )
        elif holes := excepted_networks(aim, opening):
            shown = describe_networks(holes)
            yield NearMiss(what, f"has it, but {shown} is taken out: an entry must name that range")
        elif _same_name(opening, aim):
            yield NearMiss(what, "names it, but no address of it may be opened or is known")
        elif mine and _is_empty_service(opening, aim):
            yield NearMiss(what, _why_empty(opening, world), enough=True)
    yield from _dropped(aim, world)
    yield from _sets(pod, aim, world)


def _same_name(opening: Opening, aim: ConnectionTarget) -> bool:
    pattern = getattr(opening.peer, "pattern", "")
    return bool(aim.name) and pattern == aim.name


def _why_empty(opening: Opening, world: ClusterEgress) -> str:
    """Say what a Service lacks of which nothing is open."""
    peer, services = opening.peer, world.known.services
    found = services.get((peer.namespace, peer.name)) if isinstance(peer, Service) else None
    why = f"; {found.dropped[0]}" if found is not None and found.dropped else ""
    return f"opens it once live Pods are behind it, and none is{why}"


def _is_empty_service(opening: Opening, aim: ConnectionTarget) -> bool:
    peer = opening.peer
    return (
        isinstance(peer, Service)
        and not peer.backends
        and aim.service == (peer.namespace, peer.name)
        and any(each.holds(aim.port) for each in opening.ports)
    )


def _for_others(opening: Opening, pod: EgressPod) -> str:
    those = ", ".join(str(each) for each in subjects_of(pod.namespace, opening.selects))
    return f"is for {those}; this Pod runs as {pod.namespace}/{pod.service_account}"


def _not_in_force(
    opening: Opening, what: str, namespace: str, world: ClusterEgress
) -> Iterator[NearMiss]:
    for problem in world.problems(namespace):
        elsewhere = problem.path and not opening.path.startswith(
            problem.path.partition(".destinations")[0].removesuffix(".dnsName")
        )
        if problem.allowlist == opening.allowlist and problem.closes and not elsewhere:
            yield NearMiss(what, problem.message, enough=True)


def _dropped(aim: ConnectionTarget, world: ClusterEgress) -> Iterator[NearMiss]:
    if aim.name:
        found = world.known.names.resolved(aim.name, ())
        for each in found.dropped:
            yield NearMiss(aim.name, each)
        if found.problem:
            yield NearMiss(aim.name, found.problem)
        if found.learning:
            yield NearMiss(aim.name, found.learning)


def _sets(pod: EgressPod, aim: ConnectionTarget, world: ClusterEgress) -> Iterator[NearMiss]:
    """Yield the sets that have it and that no allowlist of the namespace refers to."""
    ideal = world.with_nothing_over()
    used = {set_of(each) for each in ideal.whole_meaning(pod.namespace).openings}
    for name in sorted(world.snapshot.sets.keys() - used):
        wanted = _referring(pod, name)
        usable = frozenset({(pod.namespace, pod.service_account, name)})
        known = replace(ideal.known, usable=usable)
        openings = compile_allowlists(pod.namespace, [wanted], known).openings
        if any(reached_ends(aim, each, ideal) for each in openings):
            may = (pod.namespace, pod.service_account, name) in world.rights.usable
            right = "" if may else "; its owners must first let the service account `use` it"
            why = f"has it: refer to it by `destinations`{right}"
            yield NearMiss(f"EgressDestinations {name}", why, set=name if may else "")


def _referring(pod: EgressPod, name: str) -> EgressAllowlist:
    spec = AllowlistSpec(
        [pod.service_account], [Destination(destinations=SetName(name))], "?", "?", _NEVER
    )
    return _unstored(pod.namespace, spec)


def _unstored(namespace: str, spec: AllowlistSpec) -> EgressAllowlist:
    meta = Metadata(name="unstored", namespace=namespace)
    return EgressAllowlist(meta, spec, float("inf"), Approvable("", "", frozenset()))


def _to_add(
    near: Iterable[NearMiss], aim: ConnectionTarget, world: ClusterEgress
) -> dict[str, Any] | None:
    """Return the smallest entry of `spec.to` that opens a connection; None where none is known."""
    if found := next((each.set for each in near if each.set), ""):
        return {"destinations": {"name": found}}
    entry = _entry_for(aim, world)
    return entry if entry and _can_render(entry, world) else None


def _can_render(entry: dict[str, Any], world: ClusterEgress) -> bool:
    """Return whether the engine would say anything of an entry."""
    spec = AllowlistSpec(["?"], [msgspec.convert(entry, Destination)], "?", "?", _NEVER)
    found = _unstored("?", spec)
    meaning = compile_allowlists("?", [found], world.known)
    return bool(render(meaning, replace_target(world.site.target, world.known)).openings)


def _entry_for(aim: ConnectionTarget, world: ClusterEgress) -> dict[str, Any] | None:
    ports = [{"protocol": aim.port.protocol, "port": aim.port.first}]
    service = aim.service
    if service is None and (behind := _api_server_port(aim, world)) is not None:
        service = API_SERVER
        ports = [{"protocol": behind.protocol, "port": behind.first}]
    if service is not None:
        namespace, name = service
        return {"service": {"namespace": namespace, "name": name}, "ports": ports}
    pods = [each for each in (aim.pod, *(end.pod for end in aim.ends)) if each is not None]
    if pods and not pods[0].host_network:
        return {"pods": pods_entry(pods[0], world), "ports": ports}
    if aim.name:
        return {"dnsName": aim.name, "ports": ports}
    if not aim.ends:
        return None
    address = aim.ends[0].address
    return {"cidr": f"{address}/{address.max_prefixlen}", "ports": ports}


def _api_server_port(aim: ConnectionTarget, world: ClusterEgress) -> PortRange | None:
    """Return the port of kube-apiserver's Service behind which a connection ends, if it does."""
    known = world.services.get(API_SERVER)
    for port, backends in (known.ports if known else {}).items():
        for backend in backends:
            at = (each.address for each in aim.ends if each.port in backend.ports)
            if any(address in each for address in at for each in backend.addresses):
                return port
    return None


def _warnings(aim: ConnectionTarget, world: ClusterEgress) -> Iterator[str]:
    """Return the warnings on an entry that would be added."""
    for end in aim.ends:
        if end.pod is None and is_reserved(end.address, world):
            yield f"{end.address} is in a reserved range: to open it is to mean it"
