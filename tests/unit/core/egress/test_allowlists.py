"""Allowlists and sets: each mistake is told with its field, and what to write."""

import time
from typing import Any

import pytest

from core.base.errors import InvalidObjectError
from core.base.names import API_VERSION
from core.egress.allowlists import read_intent
from tests.unit.admission.world import raw
from tests.unit.egress.allowlist_objects import EXPIRES, NOW, allowlist, destinations

Entry = dict[str, Any]


def ports(*found: Entry, **entry: Any) -> Entry:
    """Return an entry with these ports."""
    return {**(entry or {"dnsName": "packages.example.org"}), "ports": list(found)}


def tcp(port: Any, end: Any = None) -> Entry:
    """Return a port of TCP."""
    head = {"protocol": "TCP", "port": port}
    return head if end is None else {**head, "endPort": end}


CIDR = {"cidr": "10.0.0.0/8"}


@pytest.mark.parametrize(
    ("entries", "field", "why"),
    [
        ([{}], "spec.to[0]", "names no destination: it must have one of dnsName, cidr"),
        (
            [{"dnsName": "a.b", "cidr": "10.0.0.0/8"}],
            "spec.to[0]",
            "has dnsName and cidr: it must have one of",
        ),
        ([{**CIDR, "within": ["10.0.0.0/9"]}], "spec.to[0].within", "goes with dnsName: remove it"),
        (
            [{"dnsName": "a.b", "except": ["10.0.0.0/9"]}],
            "spec.to[0].except",
            "goes with cidr: remove it",
        ),
        (
            [{"dnsName": "packages.example.org."}],
            "spec.to[0].dnsName",
            "ends in a dot: write 'packages.example.org'",
        ),
        ([{"dnsName": "xn--a.org"}], "spec.to[0].dnsName", "no valid punycode"),
        ([{"cidr": "10.0.0.1/8"}], "spec.to[0].cidr", "write 10.0.0.0/8"),
        ([{"cidr": "fe80::1%eth0/128"}], "spec.to[0].cidr", "must be a network in CIDR notation"),
        ([{"cidr": "::ffff:10.0.0.0/104"}], "spec.to[0].cidr", "IPv4-mapped"),
        (
            [{"dnsName": "a.b", "within": ["10.0.0.0/8", "10.1.0.0/16"]}],
            "spec.to[0].within[1]",
            "10.1.0.0/16 overlaps 10.0.0.0/8: name each address once",
        ),
        (
            [{**CIDR, "except": ["10.1.0.0/16", "10.3.0.0/16", "10.1.0.0/24"]}],
            "spec.to[0].except[2]",
            "10.1.0.0/24 overlaps 10.1.0.0/16",
        ),
        (
            [{**CIDR, "except": ["11.0.0.0/16"]}],
            "spec.to[0].except[0]",
            "11.0.0.0/16 must lie inside 10.0.0.0/8, and leave something of it",
        ),
        ([{**CIDR, "except": ["10.0.0.0/8"]}], "spec.to[0].except[0]", "leave something of it"),
        ([{**CIDR, "except": ["0.0.0.0/0"]}], "spec.to[0].except[0]", "must lie inside"),
        ([{**CIDR, "except": ["fd00::/64"]}], "spec.to[0].except[0]", "must lie inside"),
        ([{"serviceTag": "a b"}], "spec.to[0].serviceTag", "'a b' must be such as Storage"),
        (
            [{"service": {"name": "db.eval"}}],
            "spec.to[0].service.name",
            "'db.eval' must be the name of a Service",
        ),
        (
            [{"pods": {"namespace": "*"}}],
            "spec.to[0].pods.namespace",
            "'*' must be the name of a namespace",
        ),
        (
            [{"pods": {"serviceAccounts": ["a", "a"]}}],
            "spec.to[0].pods.serviceAccounts[1]",
            "'a' stands there twice",
        ),
        (
            [{"pods": {"podSelector": {"matchLabels": {"a b": "c"}}}}],
            "spec.to[0].pods.podSelector.matchLabels[a b]",
            "cannot be the key of a label",
        ),
        (
            [{"destinations": {"name": "A"}}],
            "spec.to[0].destinations.name",
            "'A' must be the name of an EgressDestinations",
        ),
        (
            [{"destinations": {"name": "a"}, "ports": [tcp(1)]}],
            "spec.to[0].ports",
            "are the set's: remove it",
        ),
        ([ports(tcp(0))], "spec.to[0].ports[0].port", "0 must be between 1 and 65535"),
        ([ports(tcp(70000))], "spec.to[0].ports[0].port", "70000 must be between 1 and 65535"),
        (
            [ports(tcp(443, 80))],
            "spec.to[0].ports[0].endPort",
            "80 must be after port 443, and at most 65535",
        ),
        ([ports(tcp(443, 70000))], "spec.to[0].ports[0].endPort", "at most 65535"),
        (
            [ports(tcp(1, 100), tcp(443), tcp(50, 60))],
            "spec.to[0].ports[2]",
            "TCP 50-60 overlaps TCP 1-100: name each port once",
        ),
        (
            [{"dnsName": "a.b"}, CIDR, {"dnsName": "a.b"}],
            "spec.to[2]",
            "adds nothing to spec.to[0]: remove one of them",
        ),
        ([{"cidr": "10.1.0.0/16"}, CIDR], "spec.to[0]", "adds nothing to spec.to[1]"),
        (
            [{**CIDR, "except": ["10.1.0.0/16"]}, {**CIDR, "except": ["10.1.0.0/16"]}],
            "spec.to[1]",
            "adds nothing to spec.to[0]",
        ),
        (
            [{**CIDR, "except": ["10.1.0.0/24"]}, {**CIDR, "except": ["10.1.0.0/16"]}],
            "spec.to[1]",
            "adds nothing to spec.to[0]",
        ),
        (
            [ports(tcp(1, 500), **CIDR), ports(tcp(443), **CIDR)],
            "spec.to[1]",
            "adds nothing to spec.to[0]",
        ),
        (
            [{"destinations": {"name": f"a{number}"}} for number in range(17)],
            "spec.to",
            "refers to 17 sets: at most 16 can be",
        ),
    ],
)
def test_each_mistake_is_told_with_its_field(entries: list[Entry], field: str, why: str) -> None:
    """What is wrong, where, and what to do."""
    with pytest.raises(InvalidObjectError) as error:
        allowlist(*entries)
    assert error.value.field == field
    assert why in error.value.problem
    assert error.value.what == "EgressAllowlist pypi"


@pytest.mark.parametrize(
    "entries",
    [
        [{"cidr": "0.0.0.0/1"}, {"cidr": "128.0.0.0/1"}],
        [{**CIDR, "except": ["10.1.0.0/16"]}, {"cidr": "10.1.0.0/16"}],
        [{**CIDR, "except": ["10.1.0.0/16"]}, {"cidr": "10.1.0.0/24"}],
        [{**CIDR, "except": ["10.1.0.0/16"]}, {**CIDR, "except": ["10.2.0.0/16"]}],
        [ports(tcp(443), **CIDR), ports({"protocol": "UDP", "port": 443}, **CIDR)],
        [{"dnsName": "a.b"}, {"dnsName": "*.b"}, {"dnsName": "a.b", "within": ["10.0.0.0/8"]}],
        [{"pods": {}}, {"pods": {"serviceAccounts": ["a"]}}],
    ],
)
def test_entries_that_each_add_something_are_taken(entries: list[Entry]) -> None:
    """Two halves of the Internet are two entries: their breadth is another question."""
    assert len(allowlist(*entries).spec.to) == len(entries)


def test_the_costliest_one_is_read_in_no_time() -> None:
    """Overlaps of 64 entries with 64 exceptions each: whoever writes that stalls no gate."""
    common = [f"10.0.{j // 64}.{j % 64 * 4}/30" for j in range(63)]
    wide = [tcp(1 + 2 * each) for each in range(32)]
    entries = [
        ports(*wide, cidr="10.0.0.0/8", **{"except": [*common, f"10.0.2.{4 * each}/32"]})
        for each in range(64)
    ]
    began = time.process_time()
    assert len(allowlist(*entries).spec.to) == len(entries)
    assert time.process_time() - began < 1.0


def test_null_is_absence_where_it_may_be() -> None:
    """As kube-apiserver reads it."""
    found = allowlist({"dnsName": "a.b", "within": None, "pods": None}, workloads=None)
    assert found.spec.to[0].within is None
    assert found.spec.workloads is None


@pytest.mark.parametrize(
    ("spec", "field", "why"),
    [
        ({"serviceAccounts": []}, "spec.serviceAccounts", "length >= 1"),
        ({"serviceAccounts": ["*"]}, "spec.serviceAccounts[0]", "'*' must be the whole name"),
        ({"serviceAccounts": ["a", "a"]}, "spec.serviceAccounts[1]", "'a' stands there twice"),
        (
            {"workloads": [{"kind": "job", "name": "a"}]},
            "spec.workloads[0].kind",
            "'job' must be a kind such as Job",
        ),
        (
            {"workloads": [{"kind": "Job", "name": "a*"}]},
            "spec.workloads[0].name",
            "'a*' must be the whole name of one workload",
        ),
        ({"podSelector": {"matchLabels": {"a": "-"}}}, "spec.podSelector.matchLabels[a]", "value"),
        ({"expiresAt": "tomorrow"}, "spec.expiresAt", "must be a time in UTC to the second"),
        ({"expiresAt": "2026-02-30T00:00:00Z"}, "spec.expiresAt", "must be a time in UTC"),
        ({"owner": ""}, "spec.owner", "length >= 1"),
        ({"whenExpired": "Keep"}, "spec.whenExpired", "Keep"),
        ({"from": []}, "spec", "from"),
    ],
)
def test_mistakes_beside_the_destinations(spec: Entry, field: str, why: str) -> None:
    """Who, for how long, and whose it is."""
    with pytest.raises(InvalidObjectError) as error:
        allowlist({"dnsName": "a.b"}, **spec)
    assert error.value.field == field
    assert why in error.value.problem


@pytest.mark.parametrize(
    ("entry", "field", "why"),
    [
        ({"service": {"name": "db"}}, "spec.to[0].service.namespace", "a set has no namespace"),
        ({"pods": {}}, "spec.to[0].pods.namespace", "a set has no namespace"),
        (
            {"destinations": {"name": "a"}},
            "spec.to[0].destinations",
            "a set cannot refer to another",
        ),
    ],
)
def test_a_set_stands_alone(entry: Entry, field: str, why: str) -> None:
    """It lies in no namespace, and refers to no other."""
    with pytest.raises(InvalidObjectError) as error:
        destinations(entry)
    assert error.value.field == field
    assert why in error.value.problem


def test_an_empty_end_is_no_end() -> None:
    """Of a set: absent is for ever, empty is a mistake."""
    assert destinations({"dnsName": "a.b"}).expires is None
    with pytest.raises(InvalidObjectError):
        destinations({"dnsName": "a.b"}, expiresAt="")


def test_allowlist_is_over_at_the_second_of_its_end() -> None:
    """At that very second it is over; a set without an end is not."""
    found = allowlist({"dnsName": "a.b"})
    assert found.in_time(NOW)
    assert not found.in_time(found.expires)
    assert destinations({"dnsName": "a.b"}).in_time(found.expires)
    assert not destinations({"dnsName": "a.b"}, expiresAt=EXPIRES).in_time(found.expires)


def test_status_is_nobodys_to_approve() -> None:
    """The digest is the same with a status and without; another field beside it is a mistake."""
    plain = {
        "apiVersion": API_VERSION,
        "metadata": {"name": "a", "namespace": "b"},
        "spec": {"to": []},
    }
    digest = read_intent(raw(plain), "EgressAllowlist").digest
    assert read_intent(raw({**plain, "status": {"a": 1}}), "EgressAllowlist").digest == digest
    with pytest.raises(InvalidObjectError):
        read_intent(raw({**plain, "data": {}}), "EgressAllowlist")
