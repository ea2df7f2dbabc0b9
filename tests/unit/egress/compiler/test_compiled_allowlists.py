"""What allowlists mean; whatever cannot be said for sure stays closed, and says why."""

from collections.abc import Sequence
from ipaddress import ip_network
from typing import Any, ClassVar

import msgspec
import pytest

from core.base import names
from core.base.networks import Network
from core.egress.destinations import EVERY_PORT, PortRange
from core.egress.pod_labels import label_value, workload_label
from core.kubernetes.label_selectors import Requirement
from egress.compiler.allowlists import compile_allowlists
from egress.model.facts import CompilerFacts, KnownService, ResolvedName
from egress.model.openings import Addresses, Backend, Block, CompiledAllowlists, Name, Pods, Service
from tests.unit.egress.allowlist_objects import NOW, allowlist, destinations

TCP_443 = PortRange("TCP", 443, 443)
TRAINER = Requirement(names.EGRESS_ACCOUNT_LABEL, "In", ("trainer",))


class Names:
    """`packages.example.org` is known; `bad.example` has metadata's address; no other is known."""

    def resolved(self, name: str, within: Sequence[Network]) -> ResolvedName:
        """Return what is known of a name."""
        if name == "packages.example.org":
            address = ip_network("198.51.100.223/32")
            inside = not within or any(address.subnet_of(each) for each in within)  # type: ignore[arg-type]
            return ResolvedName((address,) if inside else ())
        if name == "bad.example":
            return ResolvedName(dropped=("169.254.169.254: metadata",), problem="no answer counts")
        return ResolvedName(problem="not resolved yet")


def _meaning(
    *to: dict[str, Any], known: CompilerFacts | None = None, **spec: Any
) -> CompiledAllowlists:
    known = known or CompilerFacts(now=NOW, names=Names())
    return compile_allowlists("research", [allowlist(*to, **spec)], known)


def _reasons(meaning: CompiledAllowlists) -> list[tuple[str, str, bool]]:
    return [(each.path, each.reason, each.closes) for each in meaning.problems]


def test_a_name_goes_with_the_addresses_that_it_has() -> None:
    """An engine that knows names takes the name, another the addresses."""
    found = _meaning({"dnsName": "packages.example.org"})
    (opening,) = found.openings
    assert opening.peer == Name("packages.example.org", (ip_network("198.51.100.223/32"),))
    assert (opening.selects, opening.ports) == ((TRAINER,), (TCP_443,))
    assert found.problems == ()


class SharedNames:
    """Names that turn out to lead to what strangers share."""

    known: ClassVar[dict[str, ResolvedName]] = {
        "alias.example.org": ResolvedName(
            (ip_network("198.51.100.7/32"),), aliases=("files.example.net", "x.azurefd.net")
        ),
        "plain.example.org": ResolvedName((ip_network("151.101.1.7/32"),)),
        "six.example.org": ResolvedName((ip_network("2606:4700::1/128"),)),
        "own.example.org": ResolvedName((ip_network("198.51.100.8/32"),), aliases=("b.example",)),
    }

    def resolved(self, name: str, within: Sequence[Network]) -> ResolvedName:
        """Return what is known of a name."""
        del within
        return self.known[name]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("alias.example.org", "leads to x.azurefd.net: Azure Front Door serves many customers"),
        ("plain.example.org", "leads to 151.101.1.7, which strangers share: Fastly"),
        ("six.example.org", "leads to 2606:4700::1, which strangers share: Cloudflare"),
        ("own.example.org", ""),
    ],
)
def test_a_name_that_leads_to_a_shared_front_end_waits_for_two_people(name: str, said: str) -> None:
    """Whatever it is called: by its alias, or by its address; the other entries stay open."""
    closed = _meaning(
        {"dnsName": name}, {"cidr": "192.0.2.0/24"}, known=CompilerFacts(NOW, names=SharedNames())
    )
    assert [each.path for each in closed.openings] == (
        ["spec.to[1]"] if said else ["spec.to[0]", "spec.to[1]"]
    )
    if said:
        (problem,) = closed.problems
        assert (problem.path, problem.reason) == ("spec.to[0].dnsName", "NotApproved")
        assert said in problem.message
    approved = CompilerFacts(NOW, names=SharedNames(), approved=frozenset({"uid-research-pypi"}))
    unasked = CompilerFacts(NOW, names=SharedNames(), approved=None)
    for known in (approved, unasked):
        assert len(_meaning({"dnsName": name}, known=known).openings) == 1


def test_a_private_endpoint_of_a_shared_service_waits_for_nobody() -> None:
    """Its alias is the shared service's, and its address one's own."""
    entry = {"dnsName": "alias.example.org", "within": ["10.8.0.0/24"]}
    assert _meaning(entry, known=CompilerFacts(NOW, names=SharedNames())).problems == ()


def test_a_name_without_addresses_says_so() -> None:
    """The opening is there for engines that know names; it has no address for the others."""
    found = _meaning({"dnsName": "slow.example"})
    assert [each.peer for each in found.openings] == [Name("slow.example", ())]
    assert _reasons(found) == [("spec.to[0].dnsName", "Unresolved", True)]


def test_an_answer_that_is_dropped_is_told() -> None:
    """A name that leads to metadata opens nothing, and its owner can read why."""
    found = _meaning({"dnsName": "bad.example"})
    assert [each.peer for each in found.openings] == [Name("bad.example", ())]
    assert ("spec.to[0].dnsName", "AnswerDropped", False) in _reasons(found)


def test_a_pinned_name_is_pinned() -> None:
    """With `within`, only its addresses count, also for an engine that knows names."""
    (opening,) = _meaning({"dnsName": "packages.example.org", "within": ["198.51.0.0/16"]}).openings
    assert isinstance(opening.peer, Name)
    assert opening.peer.pinned


def test_a_wildcard_cannot_be_pinned() -> None:
    """Nobody can look at the answers of names that nobody knows: it stays closed."""
    found = _meaning({"dnsName": "*.example.com", "within": ["10.0.0.0/16"]})
    assert found.openings == ()
    assert _reasons(found) == [("spec.to[0].within", "CannotPin", True)]


def test_an_expired_allowlist_means_nothing() -> None:
    """From its last second on."""
    known = CompilerFacts(now=NOW)
    over = allowlist({"cidr": "192.0.2.0/24"}, expiresAt="2026-09-21T14:13:20Z")
    assert over.expires == NOW
    assert compile_allowlists("research", [over], known).openings == ()
    assert compile_allowlists("research", [over], CompilerFacts(now=NOW - 1)).openings != ()


def test_one_that_is_being_deleted_means_nothing() -> None:
    """Though its finalizer keeps it."""
    one = allowlist({"cidr": "192.0.2.0/24"})
    meta = msgspec.structs.replace(one.meta, deletion_timestamp="2026-09-01T00:00:00Z")
    gone = msgspec.structs.replace(one, meta=meta)
    assert compile_allowlists("research", [gone], CompilerFacts(now=NOW)).openings == ()


def test_what_needs_approval_stays_closed_without() -> None:
    """All of the allowlist, and it says why."""
    known = CompilerFacts(
        now=NOW, unapproved={"uid-research-pypi": "0 of 2 people have approved it"}
    )
    found = _meaning(
        {"cidr": "0.0.0.0/0"},
        {"cidr": "192.0.2.0/24", "ports": []} | {"ports": [{"protocol": "UDP", "port": 53}]},
        known=known,
    )
    assert found.openings == ()
    assert [each.reason for each in found.problems] == ["NotApproved"]


def test_a_set_opens_what_it_holds_to_those_who_may_use_it() -> None:
    """Each service account of the allowlist must; the path names both objects."""
    shared = destinations({"cidr": "192.0.2.0/24"}, {"cidr": "198.51.100.0/24"})
    use = frozenset({("research", "trainer", "shared")})
    known = CompilerFacts(now=NOW, sets={"shared": shared}, usable=use)
    found = _meaning({"destinations": {"name": "shared"}}, known=known)
    assert [each.path for each in found.openings] == [
        "spec.to[0] (EgressDestinations shared: spec.to[0])",
        "spec.to[0] (EgressDestinations shared: spec.to[1])",
    ]
    two = _meaning(
        {"destinations": {"name": "shared"}}, known=known, serviceAccounts=["trainer", "eve"]
    )
    assert two.openings == ()
    (problem,) = two.problems
    assert problem.reason == "MayNotUse"
    assert "eve" in problem.message
    assert "trainer" not in problem.message


def test_a_set_that_is_gone_over_or_not_approved_opens_nothing() -> None:
    """What else the allowlist says stays open."""
    use = frozenset({("research", "trainer", "shared")})
    entries = ({"destinations": {"name": "shared"}}, {"cidr": "203.0.113.0/24"})
    expired = destinations({"cidr": "192.0.2.0/24"}, expiresAt="2026-01-01T00:00:00Z")
    shared = destinations({"cidr": "192.0.2.0/24"})
    for known, reason in (
        (CompilerFacts(now=NOW, usable=use), "NoSuchSet"),
        (CompilerFacts(now=NOW, usable=use, sets={"shared": expired}), "Expired"),
        (
            CompilerFacts(
                now=NOW, usable=use, sets={"shared": shared}, unapproved={"uid-shared": "no"}
            ),
            "NotApproved",
        ),
    ):
        found = _meaning(*entries, known=known)
        assert [each.path for each in found.openings] == ["spec.to[1]"]
        assert [each.reason for each in found.problems] == [reason]


def test_a_service_is_its_live_pods() -> None:
    """By the ports of the Pods; a port that it has not, and no Pods, are told."""
    backend = Backend((PortRange("TCP", 8080, 8080),), (ip_network("10.244.0.7/32"),))
    services = {
        ("research", "api"): KnownService(ports={TCP_443: (backend,)}),
        ("research", "idle"): KnownService(ports={TCP_443: ()}),
    }
    known = CompilerFacts(now=NOW, services=services)
    found = _meaning({"service": {"name": "api"}}, known=known)
    assert [each.peer for each in found.openings] == [Service("research", "api", (), (backend,))]
    idle = _meaning({"service": {"name": "idle"}}, known=known)
    assert (idle.openings, _reasons(idle)) == ((), [("spec.to[0].service", "NoAddresses", True)])
    other = [{"protocol": "TCP", "port": 80}]
    wrong = _meaning({"service": {"name": "api"}, "ports": other}, known=known)
    assert wrong.openings == ()
    assert ("spec.to[0].service", "NoSuchPort", True) in _reasons(wrong)


def test_a_headless_service_without_ports_is_its_pods_on_what_is_named() -> None:
    """As MPI makes them: whatever ports an allowlist names, ranges too, and no others."""
    pods = (ip_network("10.244.0.8/31"),)
    known = CompilerFacts(
        now=NOW,
        services={
            ("research", "workers"): KnownService(portless=pods),
            ("research", "idle"): KnownService(portless=()),
        },
    )
    wide = [{"protocol": "TCP", "port": 1024, "endPort": 65535}]
    found = _meaning({"service": {"name": "workers"}, "ports": wide}, known=known)
    backend = Backend((PortRange("TCP", 1024, 65535),), pods)
    assert [each.peer for each in found.openings] == [
        Service("research", "workers", (), (backend,))
    ]
    assert not found.problems
    idle = _meaning({"service": {"name": "idle"}, "ports": wide}, known=known)
    assert (idle.openings, _reasons(idle)) == ((), [("spec.to[0].service", "NoAddresses", True)])


def test_a_range_is_no_port_of_a_service() -> None:
    """A Service sends each of its ports to one of its Pods'."""
    backend = Backend((PortRange("TCP", 8080, 8080),), (ip_network("10.244.0.7/32"),))
    services = {("research", "api"): KnownService(ports={TCP_443: (backend,)})}
    wide = [{"protocol": "TCP", "port": 443, "endPort": 444}]
    known = CompilerFacts(now=NOW, services=services)
    found = _meaning({"service": {"name": "api"}, "ports": wide}, known=known)
    assert found.openings == ()
    said = next(each for each in found.problems if each.reason == "NoSuchPort")
    assert said.message.endswith("has no port TCP 443-444: its ports are named one by one")


def test_ports_of_a_service_are_found_by_their_names() -> None:
    """As numbers, so that no engine has to; another name is no port of it."""
    backend = Backend((PortRange("TCP", 8080, 8080),), (ip_network("10.244.0.7/32"),))
    known = KnownService(ports={TCP_443: (backend,)}, port_names={("TCP", "https"): TCP_443})
    facts = CompilerFacts(now=NOW, services={("research", "api"): known})
    named = {"service": {"name": "api"}, "ports": [{"protocol": "TCP", "name": "https"}]}
    (opening,) = _meaning(named, known=facts).openings
    assert opening.ports == (TCP_443,)
    assert opening.peer == Service("research", "api", (), (backend,))
    wrong = {"service": {"name": "api"}, "ports": [{"protocol": "TCP", "name": "http"}]}
    found = _meaning(wrong, known=facts)
    assert found.openings == ()
    assert [each.reason for each in found.problems] == ["NoAddresses", "NoSuchPort"]
    assert "has no port TCP http" in found.problems[1].message


def test_every_port_of_a_service_is_what_it_has() -> None:
    """And no more: what Pods listen on beside it stays closed; without ports it is all of them."""
    ports = (TCP_443, PortRange("UDP", 53, 53))
    pods = (ip_network("10.244.0.7/32"),)
    known = KnownService(ports={each: (Backend((each,), pods),) for each in ports})
    facts = CompilerFacts(
        now=NOW,
        services={
            ("research", "api"): known,
            ("research", "workers"): KnownService(portless=pods),
        },
    )
    (opening,) = _meaning(
        {"service": {"name": "api"}, "allPorts": True, "ports": None}, known=facts
    ).openings
    assert opening.ports == ports
    (opening,) = _meaning(
        {"service": {"name": "workers"}, "allPorts": True, "ports": None}, known=facts
    ).openings
    assert opening.peer == Service("research", "workers", (), (Backend(EVERY_PORT, pods),))


def test_pods_are_of_namespaces_with_labels() -> None:
    """In place of one namespace; the gate's label of service accounts goes beside."""
    selector = {"matchLabels": {"team": "vision"}}
    (opening,) = _meaning(
        {"pods": {"namespaceSelector": selector, "serviceAccounts": ["db"]}}
    ).openings
    account = Requirement(names.EGRESS_ACCOUNT_LABEL, "In", ("db",))
    assert opening.peer == Pods("", (account,), (Requirement("team", "In", ("vision",)),))


def test_another_name_for_a_name_is_not_opened() -> None:
    """Whoever writes an ExternalName chooses the name: an intent must name it."""
    services = {("research", "out"): KnownService(external_name="evil.example")}
    found = _meaning({"service": {"name": "out"}}, known=CompilerFacts(now=NOW, services=services))
    assert found.openings == ()
    assert "dnsName: evil.example" in found.problems[0].message


def test_pods_are_chosen_by_labels_that_only_the_gate_sets_too() -> None:
    """The service accounts of the destination count by the gate's label, beside the author's."""
    pods = {
        "namespace": "data",
        "serviceAccounts": ["loader"],
        "podSelector": {"matchLabels": {"app": "cache"}},
    }
    (opening,) = _meaning({"pods": pods}).openings
    assert opening.peer == Pods(
        "data",
        (
            Requirement("app", "In", ("cache",)),
            Requirement(names.EGRESS_ACCOUNT_LABEL, "In", ("loader",)),
        ),
    )
    (own,) = _meaning({"pods": {}}).openings
    assert own.peer == Pods("research")


def test_author_selectors_only_narrow() -> None:
    """The service account is always demanded, with the workload and the author's labels beside."""
    (opening,) = _meaning(
        {"cidr": "192.0.2.0/24"},
        workloads=[{"kind": "Job", "name": "fetch"}],
        podSelector={"matchExpressions": [{"key": "role", "operator": "Exists"}]},
    ).openings
    assert set(opening.selects) == {
        TRAINER,
        Requirement(names.EGRESS_WORKLOAD_LABEL, "In", (workload_label("Job", "fetch"),)),
        Requirement("role", "Exists"),
    }


def test_names_too_long_for_a_label_are_told_apart() -> None:
    """Two accounts whose first characters are equal have different labels."""
    one, other = "a" * 200, "a" * 199 + "b"
    assert label_value(one) != label_value(other)
    assert len(label_value(one)) <= 63


def test_everywhere_is_without_the_clusters_own_ranges() -> None:
    """A CIDR means what lies outside: Pods are opened as Pods."""
    known = CompilerFacts(now=NOW, ranges=(ip_network("10.244.0.0/16"),))
    (opening,) = _meaning({"cidr": "10.0.0.0/8"}, known=known).openings
    block = Block(ip_network("10.0.0.0/8"), (ip_network("10.244.0.0/16"),))
    assert opening.peer == Addresses((block,))


def test_a_tag_without_a_file_says_what_is_missing() -> None:
    """The operator's setting is named."""
    found = _meaning({"serviceTag": "Storage"})
    assert found.openings == ()
    assert "egress.tags" in found.problems[0].message


def test_the_order_of_allowlists_does_not_matter() -> None:
    """The same meaning, value for value."""
    some = [allowlist({"cidr": f"192.0.2.{index}/32"}, name=f"a{index}") for index in range(4)]
    known = CompilerFacts(now=NOW)
    assert compile_allowlists("research", some, known) == compile_allowlists(
        "research", some[::-1], known
    )
