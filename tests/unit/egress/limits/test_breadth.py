"""What two people must approve is what entries reach together, however it is written."""

from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base import names
from core.base.networks import Network
from core.egress.destinations import Destination, PodsSelector, Port, Protocol, ServiceName
from core.kubernetes.label_selectors import Expression, LabelSelector
from egress.limits.breadth import Limits, breadth_reasons

LIMITS = Limits()


class Tags:
    """A file with one small tag and one large one."""

    def networks(self, tag: str) -> tuple[Network, ...] | str:
        """Return the networks of a tag."""
        known: dict[str, tuple[Network, ...]] = {
            "Small": (IPv4Network("20.1.0.0/24"),),
            "Large": (IPv4Network("20.0.0.0/12"),),
        }
        return known.get(tag, f"{tag} is not in the file")

    def shared_by(self, network: Network) -> str:
        """Say that nobody shares it."""
        del network
        return ""

    def warning(self, tag: str) -> str:
        """Say nothing."""
        del tag
        return ""


def _broad(*entries: Destination) -> tuple[str, ...]:
    return breadth_reasons(entries, LIMITS, Tags())


def test_a_network_of_the_limits_size_is_not_broad() -> None:
    """The limit itself needs no approval, in either family."""
    assert not _broad(Destination(cidr="10.0.0.0/16"), Destination(cidr="2001:db8::/48"))


def test_a_network_that_is_broader_says_so() -> None:
    """The reason names the network and the limit."""
    assert _broad(Destination(cidr="10.0.0.0/8")) == ("10.0.0.0/8 is broader than /16",)
    assert _broad(Destination(cidr="2001:db8::/32")) == ("2001:db8::/32 is broader than /48",)


def test_two_halves_of_the_internet_are_the_internet() -> None:
    """A broad network in disguise is found, whatever its parts are called."""
    halves = (Destination(cidr="0.0.0.0/1"), Destination(cidr="128.0.0.0/1"))
    assert _broad(*halves) == ("0.0.0.0/0 is broader than /16",)
    six = (Destination(cidr="::/1"), Destination(cidr="8000::/1"))
    assert _broad(*six) == ("::/0 is broader than /48",)


@pytest.mark.parametrize("prefix", ["64:ff9b::", "64:ff9b:1::", "64:ff9b:1:7::"])
def test_what_nat64_leads_to_counts_as_ipv4(prefix: str) -> None:
    """All of IPv4 lies in one /96, far below the limit of IPv6; a /112 in it is an IPv4 /16."""
    reason = "0.0.0.0/0 is broader than /16, to which NAT64 leads"
    assert _broad(Destination(cidr=f"{prefix}/96")) == (reason,)
    assert not _broad(Destination(cidr=f"{prefix}808:0/112"))
    assert _broad(Destination(cidr=f"{prefix}808:0/111"))
    both = (Destination(cidr=f"{prefix}808:0/112"), Destination(cidr="8.9.0.0/16"))
    assert _broad(*both) == ("8.8.0.0/15 is broader than /16, to which NAT64 leads",)
    assert not _broad(Destination(cidr=f"{prefix}808:0/112"), Destination(cidr="8.8.0.0/16"))


def test_many_small_networks_are_broad_together() -> None:
    """Networks that do not touch add up."""
    apart = [Destination(cidr=f"10.{index * 2}.0.0/16") for index in range(2)]
    assert _broad(*apart) == ("its 2 IPv4 networks are together more than a /16",)


def test_what_is_excepted_does_not_count() -> None:
    """A broad network of which little is left is not broad."""
    halves = ["10.0.0.0/9", "10.128.0.0/10", "10.192.0.0/11", "10.224.0.0/12"]
    left = [*halves, "10.240.0.0/13", "10.248.0.0/14", "10.252.0.0/15", "10.254.0.0/16"]
    assert not _broad(Destination(cidr="10.0.0.0/8", except_=left))


def test_tags_count_by_their_size_and_some_by_their_name() -> None:
    """A large tag is broad; so is one that the operator lists, in any case, file or no file."""
    assert not _broad(Destination(service_tag="Small"))
    assert _broad(Destination(service_tag="Large")) == ("20.0.0.0/12 is broader than /16",)
    assert _broad(Destination(service_tag="azurecloud")) == ("service tag azurecloud",)


@pytest.mark.parametrize(
    "entry",
    [
        Destination(cidr="169.254.169.254/32"),
        Destination(cidr="168.63.129.16/32"),
        Destination(cidr="fe80::/10"),
        Destination(dns_name="metadata.example", within=["169.254.169.254/32"]),
        Destination(cidr="64:ff9b::a9fe:a9fe/128"),
        Destination(cidr="64:ff9b:1::a9fe:a9fe/128"),
        Destination(dns_name="metadata.example", within=["64:ff9b:1::a9fe:a900/120"]),
        Destination(dns_name="metadata.example", within=["2002:a9fe:a9fe::/48"]),
    ],
)
def test_metadata_needs_approval(entry: Destination) -> None:
    """One address of it is the node's identity, whoever is behind the Pod."""
    (reason,) = [each for each in _broad(entry) if "reserved" in each]
    assert "metadata" in reason


def test_wildcards_with_too_few_labels_are_broad() -> None:
    """Every name, and every name of a top-level domain, need approval; a domain's do not."""
    assert _broad(Destination(dns_name="*")) == ("every DNS name (*)",)
    assert _broad(Destination(dns_name="*.com"))
    assert not _broad(Destination(dns_name="*.example.com"), Destination(dns_name="example.com"))


@given(st.lists(st.tuples(st.integers(0, 255), st.integers(8, 32)), min_size=1, max_size=8))
def test_breadth_counts_overlapping_addresses_once(parts: list[tuple[int, int]]) -> None:
    """Counted one by one in /24s and larger, the verdict is the same however networks overlap."""
    networks = [IPv4Network((octet << 24, prefix)) for octet, prefix in parts]
    covered: set[tuple[int, int]] = set()
    for each in networks:
        first = int(each.network_address)
        covered.add((first, first + each.num_addresses))
    total, reached = 0, -1
    for first, end in sorted(covered):
        total += max(0, end - max(first, reached))
        reached = max(reached, end)
    broad = _broad(*[Destination(cidr=str(each)) for each in networks])
    many = [each for each in broad if "reserved range" not in each]
    assert bool(many) == (total > 2**16)


def _ports(*ranges: tuple[int, int], protocol: Protocol = "TCP") -> list[Port]:
    return [Port(protocol, first, last if last > first else None) for first, last in ranges]


def test_many_ports_need_approval_however_they_are_written() -> None:
    """Of a destination, of several, by one range or by many; `allPorts` is all of them."""
    every = "every port of TCP"
    assert not _broad(Destination(dns_name="a.example", ports=_ports((1, 4096))))
    assert _broad(Destination(dns_name="a.example", ports=_ports((1, 4097)))) == (
        "its ports of TCP are together 4097, more than 4096",
    )
    assert _broad(Destination(dns_name="a.example", all_ports=True)) == (every, "every port of UDP")
    parts = [(1 + 2048 * part, min(2048 * (part + 1), 65535)) for part in range(32)]
    assert _broad(Destination(dns_name="a.example", ports=_ports(*parts))) == (every,)
    spread = (Destination(dns_name=f"a{n}.example", ports=_ports(*parts[n::2])) for n in (0, 1))
    assert _broad(*spread) == (every,)


def test_ports_inside_the_namespace_need_none() -> None:
    """A gang talks on any port among its own Pods; a headless Service elsewhere may have any."""
    assert not _broad(Destination(pods=PodsSelector(), all_ports=True))
    assert not _broad(Destination(service=ServiceName("api"), all_ports=True))
    assert _broad(Destination(service=ServiceName("api", "data"), all_ports=True))
    assert _broad(Destination(pods=PodsSelector("data"), all_ports=True))
    sctp = Port("SCTP", 1, 65535)
    assert _broad(Destination(cidr="20.0.0.0/16", ports=[sctp])) == ("every port of SCTP",)


def test_networks_of_within_count() -> None:
    """Whoever owns the name chooses among their addresses."""
    assert _broad(Destination(dns_name="a.example", within=["10.0.0.0/8"])) == (
        "10.0.0.0/8 is broader than /16",
    )


@pytest.mark.parametrize(
    ("selector", "broad"),
    [
        (LabelSelector(), True),
        (LabelSelector(match_expressions=[Expression("team", "Exists")]), True),
        (LabelSelector(match_expressions=[Expression("team", "NotIn", ["a"])]), True),
        (LabelSelector(match_labels={"team": "a"}), True),
        (LabelSelector(match_labels={names.NAMESPACE_NAME_LABEL: "a"}), False),
        (
            LabelSelector(
                match_expressions=[Expression(names.NAMESPACE_NAME_LABEL, "In", ["a", "b"])]
            ),
            False,
        ),
    ],
)
def test_pods_of_namespaces_that_nothing_names_need_approval(
    selector: LabelSelector,
    broad: bool,  # noqa: FBT001 (a case)
) -> None:
    """Whoever may change a namespace may give it a label; nobody gives it another's name."""
    pods = PodsSelector(namespace_selector=selector)
    assert bool(_broad(Destination(pods=pods, ports=_ports((443, 443))))) is broad


@pytest.mark.parametrize(
    "entry",
    [
        Destination(cidr="10.240.0.7/32"),
        Destination(cidr="10.240.0.0/24"),
        Destination(dns_name="api.example", within=["10.240.0.0/28"]),
        Destination(cidr="64:ff9b::10.240.0.7/128"),
    ],
)
def test_the_nodes_subnet_needs_approval(entry: Destination) -> None:
    """Kubelets are there, and what cloud services do for nodes."""
    limits = Limits(own=(IPv4Network("10.240.0.0/16"),))
    (reason,) = breadth_reasons([entry], limits, Tags())
    assert "lies in the cluster's own networks" in reason
    assert not breadth_reasons([Destination(cidr="10.241.0.7/32")], limits, Tags())


@pytest.mark.parametrize(
    "entry",
    [
        Destination(dns_name="*.blob.core.windows.net"),
        Destination(dns_name="weights.blob.core.windows.net"),
        Destination(dns_name="w*.blob.core.windows.net"),
        Destination(dns_name="*.core.windows.net"),
        Destination(dns_name="weights.*.core.windows.net"),
        Destination(dns_name="weights.blob.core.windows.net", within=["0.0.0.0/1", "128.0.0.0/1"]),
        Destination(
            dns_name="weights.blob.core.windows.net", within=["10.0.0.0/24", "20.0.0.0/24"]
        ),
        Destination(dns_name="x.azurefd.net"),
        Destination(service_tag="Storage.WestEurope"),
        Destination(service_tag="storage"),
        Destination(service_tag="AzureFrontDoor.Frontend"),
        Destination(cidr="151.101.1.0/24"),
        Destination(cidr="2606:4700::/48"),
        Destination(cidr="64:ff9b::151.101.1.0/120"),
        Destination(dns_name="workspace.ods.opinsights.azure.com"),
    ],
)
def test_what_strangers_own_too_needs_approval(entry: Destination) -> None:
    """Data that leaves for one's own account leaves by the same door for anybody's."""
    assert _broad(entry)


def test_a_private_endpoint_needs_none() -> None:
    """Its address is one's own; a tag of one's own network neither."""
    name = "weights.blob.core.windows.net"
    assert not _broad(Destination(dns_name=name, within=["10.8.0.0/28", "fd00::/64"]))


def test_what_is_approved_is_the_operators_choice() -> None:
    """All, or nothing; what is refused as too broad together with others follows it."""
    small, large = Destination(cidr="20.0.0.0/24"), Destination(cidr="0.0.0.0/0")
    assert breadth_reasons([small], Limits(approve="all"), Tags())
    assert not breadth_reasons([large], Limits(approve="none"), Tags())
