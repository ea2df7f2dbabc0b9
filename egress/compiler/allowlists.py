"""Compiles the allowlists of a namespace into openings, and says what stays closed. Pure.

Whatever cannot be said for sure stays closed, with the reason: a name without addresses, a set that
may not be used, an approval that is missing. Each entry of an allowlist stands alone: that one
stays closed closes no other. What allowlists refer to (sets, Services,
rights) is told before, so that it can be looked up.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from core.base import names
from core.base.networks import network_of
from core.egress.allowlists import EgressAllowlist, EgressDestinations
from core.egress.destinations import Destination, PortRange
from core.egress.dns_names import is_wildcard
from core.egress.pod_labels import label_value, workload_label
from core.kubernetes.label_selectors import (
    Requirement,
    Requirements,
    requirements_of,
    sort_requirements,
)
from egress.limits.breadth import is_private, shared_name_reason
from egress.model.facts import CompilerFacts, KnownService
from egress.model.openings import (
    Addresses,
    Backend,
    CompiledAllowlists,
    Name,
    Opening,
    Peer,
    Pods,
    Problem,
    Service,
)
from egress.model.reserved_ranges import named_block

Right = tuple[str, str, str]
"""Namespace, service account and set: whether the one may `use` the other there."""

ServiceKey = tuple[str, str]
"""Namespace and name."""

_OVER = {
    False: "it has expired: set spec.expiresAt anew, if it is still needed",
    True: "it is being deleted",
}


@dataclass(frozen=True)
class References:
    """What allowlists of one namespace name."""

    sets: frozenset[str] = frozenset()
    """Whether there is such a set or not."""
    services: frozenset[ServiceKey] = frozenset()
    names: frozenset[str] = frozenset()
    """DNS names that can be resolved: no wildcards."""
    rights: frozenset[Right] = frozenset()


NO_REFERENCES = References()


def references_of(
    allowlists: Iterable[EgressAllowlist], sets: Mapping[str, EgressDestinations]
) -> References:
    """Return the references of allowlists, their own and those of the sets that they name."""
    services: set[ServiceKey] = set()
    names: set[str] = set()
    rights: set[Right] = set()
    for allowlist in allowlists:
        namespace = allowlist.meta.namespace
        for entry in _entries(allowlist.spec.to, sets):
            if entry.destinations is not None:
                used = entry.destinations.name
                rights |= {(namespace, each, used) for each in allowlist.spec.service_accounts}
            elif entry.service is not None:
                services.add((entry.service.namespace or namespace, entry.service.name))
            elif entry.dns_name is not None and not is_wildcard(entry.dns_name):
                names.add(entry.dns_name)
    return References(
        frozenset(name for _, _, name in rights),
        frozenset(services),
        frozenset(names),
        frozenset(rights),
    )


def _entries(
    entries: Iterable[Destination], sets: Mapping[str, EgressDestinations]
) -> Iterator[Destination]:
    for entry in entries:
        yield entry
        if entry.destinations is not None and entry.destinations.name in sets:
            yield from sets[entry.destinations.name].spec.to


_Said = Peer | Problem


def compile_allowlists(
    namespace: str, allowlists: Iterable[EgressAllowlist], known: CompilerFacts
) -> CompiledAllowlists:
    """Return the compiled allowlists of a namespace at `known.now`."""
    openings: list[Opening] = []
    problems: list[Problem] = []
    for allowlist in sorted(allowlists, key=lambda each: each.meta.name):
        for said in _AllowlistReader(allowlist, known).read():
            if isinstance(said, Problem):
                problems.append(said)
            else:
                openings.append(said)
    return CompiledAllowlists(namespace, tuple(openings), tuple(sorted(set(problems))))


def selects_of(allowlist: EgressAllowlist) -> Requirements:
    """Return which Pods an allowlist is about: by the gate's labels, narrowed by the author's."""
    spec = allowlist.spec
    accounts = tuple(sorted(map(label_value, spec.service_accounts)))
    found = [Requirement(names.EGRESS_ACCOUNT_LABEL, "In", accounts)]
    if spec.workloads:
        workloads = tuple(sorted({workload_label(each.kind, each.name) for each in spec.workloads}))
        found.append(Requirement(names.EGRESS_WORKLOAD_LABEL, "In", workloads))
    return sort_requirements((*found, *requirements_of(spec.pod_selector, field="", what="")))


@dataclass(frozen=True)
class _AllowlistReader:
    """One allowlist, as it is read."""

    allowlist: EgressAllowlist
    known: CompilerFacts

    def read(self) -> Iterator[Opening | Problem]:
        """Yield its openings, and a problem for each entry that stays closed."""
        allowlist, known = self.allowlist, self.known
        if not allowlist.in_time(known.now):
            deleted = allowlist.meta.deletion_timestamp is not None
            yield self._problem("", "Deleted" if deleted else "Expired", _OVER[deleted])
            return
        if why := known.unapproved.get(allowlist.meta.uid, ""):
            yield self._problem("", "NotApproved", why)
            return
        for index, entry in enumerate(allowlist.spec.to):
            path = f"spec.to[{index}]"
            if entry.destinations is None:
                yield from self._entry(entry, path, allowlist.meta.namespace, allowlist.meta.uid)
            else:
                yield from self._of_set(entry.destinations.name, path)

    def _of_set(self, name: str, path: str) -> Iterator[Opening | Problem]:
        allowlist, known = self.allowlist, self.known
        found = known.sets.get(name)
        place = f"{path}.destinations"
        if found is None:
            message = f"there is no EgressDestinations {name}"
            yield self._problem(place, "NoSuchSet", message)
            return
        if not found.in_time(known.now):
            message = f"EgressDestinations {name} has expired, or is being deleted"
            yield self._problem(place, "Expired", message)
            return
        if why := known.unapproved.get(found.meta.uid, ""):
            yield self._problem(place, "NotApproved", f"EgressDestinations {name}: {why}")
            return
        namespace = allowlist.meta.namespace
        refused = [
            account
            for account in allowlist.spec.service_accounts
            if (namespace, account, name) not in known.usable
        ]
        if refused:
            yield self._problem(place, "MayNotUse", may_not_use_message(refused, name, namespace))
            return
        for index, entry in enumerate(found.spec.to):
            inner = f"{path} (EgressDestinations {name}: spec.to[{index}])"
            yield from self._entry(entry, inner, "", found.meta.uid)

    def _entry(
        self, entry: Destination, path: str, namespace: str, owner: str
    ) -> Iterator[Opening | Problem]:
        """Yield the opening of one entry, and what is to be said of it; `owner` is whose it is."""
        peer: Peer | None = None
        for said in self._peer(entry, path, namespace, owner):
            if isinstance(said, Problem):
                yield said
            else:
                peer = said
        if peer is not None:
            name, selects = self.allowlist.meta.name, selects_of(self.allowlist)
            ports = entry.ranges
            if isinstance(peer, Service):
                found = self.known.services[peer.namespace, peer.name]
                ports = tuple(sorted(set(_of_service(entry, found)))) or ports
            yield Opening(name, path, selects, peer, ports)

    def _peer(self, entry: Destination, path: str, namespace: str, owner: str) -> Iterator[_Said]:
        if entry.dns_name is not None:
            yield from self._name(entry, entry.dns_name, path, owner)
        elif entry.cidr is not None:
            yield from self._cidr(entry, entry.cidr, path)
        elif entry.service_tag is not None:
            yield from self._tag(entry.service_tag, path)
        elif entry.service is not None:
            of = (entry.service.namespace or namespace, entry.service.name)
            yield from self._service(entry, of, path)
        elif entry.pods is not None:
            chosen = requirements_of(entry.pods.pod_selector, field="", what="")
            if entry.pods.service_accounts:
                accounts = tuple(sorted(map(label_value, entry.pods.service_accounts)))
                of_gate = Requirement(names.EGRESS_ACCOUNT_LABEL, "In", accounts)
                chosen = sort_requirements((*chosen, of_gate))
            if entry.pods.namespace_selector is not None:
                wanted = requirements_of(entry.pods.namespace_selector, field="", what="")
                yield Pods("", chosen, wanted)
            else:
                yield Pods(entry.pods.namespace or namespace, chosen)

    def _name(self, entry: Destination, name: str, path: str, owner: str) -> Iterator[_Said]:
        within = tuple(map(network_of, entry.within or ()))
        if is_wildcard(name):
            if within:
                message = "a wildcard cannot be resolved, so its answers cannot be looked at"
                yield self._problem(f"{path}.within", "CannotPin", message)
            else:
                yield Name(name, ())
            return
        approved = self.known.approved
        if approved is not None and owner not in approved and not is_private(entry.within):
            found = self.known.names.resolved(name, ())
            if shared := shared_name_reason(name, found, self.known.tags):
                message = not_approved_message(shared, ())
                yield self._problem(f"{path}.dnsName", "NotApproved", message)
                return
        found = self.known.names.resolved(name, within)
        for each in found.dropped:
            yield self._problem(f"{path}.dnsName", "AnswerDropped", each, closes=False)
        if found.problem:
            closes = not found.addresses
            yield self._problem(f"{path}.dnsName", "Unresolved", found.problem, closes=closes)
        if found.learning:
            yield self._problem(f"{path}.dnsName", "Learning", found.learning, closes=False)
        yield Name(name, found.addresses, pinned=bool(within))

    def _cidr(self, entry: Destination, cidr: str, path: str) -> Iterator[_Said]:
        without = tuple(map(network_of, entry.except_ or ()))
        block = named_block(network_of(cidr), self.known.reserved, without)
        if block is None:
            message = f"nothing is left of {cidr} without reserved ranges and `except`"
            yield self._problem(f"{path}.cidr", "NoAddresses", message)
        else:
            yield Addresses((block,))

    def _tag(self, tag: str, path: str) -> Iterator[_Said]:
        blocks = self.known.tag(tag)
        if isinstance(blocks, str):
            yield self._problem(f"{path}.serviceTag", "NoSuchTag", blocks)
        elif not blocks:
            message = f"{tag} has no addresses in the file of service tags"
            yield self._problem(f"{path}.serviceTag", "NoAddresses", message)
        else:
            yield Addresses(blocks)
        if warning := self.known.tags.warning(tag):
            yield self._problem(f"{path}.serviceTag", "Broad", warning, closes=False)

    def _service(self, entry: Destination, of: tuple[str, str], path: str) -> Iterator[_Said]:
        shown = "/".join(of)
        found = self.known.services.get(of)
        path = f"{path}.service"
        if found is None:
            yield self._problem(path, "NoSuchService", f"there is no Service {shown}")
            return
        if found.external_name:
            name = found.external_name
            message = f"Service {shown} is another name for {name}: write dnsName: {name} instead"
            yield self._problem(path, "ExternalName", message)
            return
        for each in found.dropped:
            yield self._problem(path, "EndpointDropped", each, closes=False)
        backends: list[Backend] = []
        if found.portless:
            backends.append(Backend(entry.ranges, found.portless))
        for port in _of_service(entry, found) if found.portless is None else ():
            if port not in found.ports:
                one_by_one = ": its ports are named one by one" * (port.first != port.last)
                message = f"Service {shown} has no port {port}{one_by_one}"
                yield self._problem(path, "NoSuchPort", message)
            else:
                backends += found.ports[port]
        if backends or found.selector:
            some = tuple(sorted(set(backends)))
            yield Service(*of, found.selector, some, is_api_server=found.is_api_server)
        if not backends:
            message = no_backends_message(of, found)
            if found.is_api_server:
                message = f"Service {shown} tells no address of kube-apiserver"
            yield self._problem(path, "NoAddresses", message)

    def _problem(self, path: str, reason: str, message: str, *, closes: bool = True) -> Problem:
        return Problem(self.allowlist.meta.name, path, reason, message, closes)


def _of_service(entry: Destination, found: KnownService) -> Iterator[PortRange]:
    """Yield the ports of a Service that an entry means: those that it has by a name by number."""
    if entry.all_ports and found.portless is None:
        yield from found.ports
        return
    for port in entry.ranges:
        number = found.port_names.get((port.protocol, port.name)) if port.name else None
        yield port if number is None else number


def no_backends_message(of: ServiceKey, found: KnownService | None) -> str:
    """Return the message that nothing behind a Service is open, with the first reason."""
    message = f"Service {'/'.join(of)} has no live Pods behind it"
    return f"{message} that count: {found.dropped[0]}" if found and found.dropped else message


def not_approved_message(broad: str, lacking: Iterable[str]) -> str:
    """Return which part of an object two people must approve, and what its approvals lack."""
    said = "; ".join(lacking)
    return f"two people must approve it: {broad}{f' ({said})' if said else ''}"


def may_not_use_message(accounts: Iterable[str], name: str, namespace: str) -> str:
    """Return the message that somebody lacks the right to a set, and how it is given."""
    shown = ", ".join(accounts)
    return (
        f"service account {shown} may not use EgressDestinations {name} in namespace {namespace}: "
        f"its owners give the verb use on egressdestinations.sallyport.dev/{name} by a RoleBinding"
    )
