"""Allowlists and sets of destinations, right and wrong, and who says so."""

from enum import Enum
from typing import Any, Final

Spec = dict[str, Any]

NO_PORTS: Final = {"no ports": True}
"""Keeps `with_ports` from giving some."""
HTTPS: Final = [{"protocol": "TCP", "port": 443}]
ALLOWLIST: Final[Spec] = {
    "serviceAccounts": ["trainer"],
    "to": [{"dnsName": "packages.example.org", "ports": HTTPS}],
    "owner": "research-platform",
    "reason": "packages",
    "expiresAt": "2031-12-31T18:00:00Z",
}
SET: Final[Spec] = {
    "to": [{"dnsName": "packages.example.org", "ports": HTTPS}],
    "owner": "research-platform",
    "reason": "for all",
}


class Says(Enum):
    """Who takes an object."""

    TAKEN = "both take it"
    REFUSED = "both refuse it"
    WEBHOOK = "the definition takes it, the types refuse it"


TAKEN, REFUSED, WEBHOOK = Says
Cases = dict[str, tuple[Says, Any]]


def to(*entries: Spec, **spec: Any) -> Spec:
    """Return an allowlist's `spec` with these entries; those without ports get 443."""
    return {**ALLOWLIST, "to": [with_ports(each) for each in entries], **spec}


def shared(*entries: Spec, **spec: Any) -> Spec:
    """Return a set's `spec` with these entries."""
    return {**SET, "to": [with_ports(each) for each in entries], **spec}


def with_ports(entry: Spec) -> Spec:
    """Return an entry with a port, unless it says something of its ports."""
    if NO_PORTS.items() <= entry.items():
        return {key: value for key, value in entry.items() if key not in NO_PORTS}
    return entry if "ports" in entry or "destinations" in entry else {**entry, "ports": HTTPS}


def ports(*found: Spec, **entry: Any) -> Spec:
    """Return an allowlist's `spec` whose entry has these ports."""
    return to({**(entry or {"dnsName": "packages.example.org"}), "ports": list(found)})


def port(number: Any, end: Any = None, protocol: Any = "TCP") -> Spec:
    """Return one entry of ports."""
    found = {"protocol": protocol, "port": number}
    return found if end is None else {**found, "endPort": end}


def without(spec: Spec, field: str) -> Spec:
    """Return a `spec` without a field."""
    return {key: value for key, value in spec.items() if key != field}


def expression(key: str, operator: str, *values: str) -> Spec:
    """Return an allowlist's `spec` with a selector of one expression."""
    head: Spec = {"key": key, "operator": operator}
    whole = {**head, "values": list(values)} if values else head
    return {**ALLOWLIST, "podSelector": {"matchExpressions": [whole]}}


LABEL_63: Final = "a" * 63

DESTINATIONS: Final[Cases] = {
    "a name": (TAKEN, to({"dnsName": "packages.example.org"})),
    "a wildcard": (TAKEN, to({"dnsName": "*.example.com"})),
    "a top-level wildcard": (TAKEN, to({"dnsName": "*.com"})),
    "every name": (TAKEN, to({"dnsName": "*"})),
    "punycode": (TAKEN, to({"dnsName": "xn--bcher-kva.example"})),
    "a name with within": (
        TAKEN,
        to({"dnsName": "a.example", "within": ["10.1.0.0/24", "fd00::/64"]}),
    ),
    "long labels": (TAKEN, to({"dnsName": f"{LABEL_63}.{LABEL_63}.{LABEL_63}"})),
    "a network": (TAKEN, to({"cidr": "20.60.0.0/16"})),
    "a network less others": (
        TAKEN,
        to({"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16", "10.2.0.0/16"]}),
    ),
    "IPv6": (TAKEN, to({"cidr": "2001:db8::/32", "except": ["2001:db8:1::/48"]})),
    "one address": (TAKEN, to({"cidr": "169.254.169.254/32"})),
    "all of IPv4": (TAKEN, to({"cidr": "0.0.0.0/0"})),
    "a tag": (TAKEN, to({"serviceTag": "Storage.WestEurope"})),
    "a Service": (TAKEN, to({"service": {"name": "db"}})),
    "a Service elsewhere": (TAKEN, to({"service": {"name": "db", "namespace": "eval"}})),
    "Pods": (TAKEN, to({"pods": {}})),
    "Pods of accounts": (
        TAKEN,
        to({"pods": {"namespace": "eval", "serviceAccounts": ["a", "b.c"]}}),
    ),
    "Pods of labels": (TAKEN, to({"pods": {"podSelector": {"matchLabels": {"app": "db"}}}})),
    "a set": (TAKEN, to({"destinations": {"name": "pypi"}})),
    "null in optional fields": (
        TAKEN,
        to(
            {"dnsName": "packages.example.org", "within": None, "cidr": None, "pods": None},
            workloads=None,
        ),
    ),
    "nothing": (REFUSED, to({})),
    "two": (REFUSED, to({"dnsName": "packages.example.org", "cidr": "10.0.0.0/8"})),
    "all at once": (
        REFUSED,
        to({"dnsName": "a.b", "serviceTag": "Storage", "service": {"name": "a"}, "pods": {}}),
    ),
    "within without a name": (REFUSED, to({"cidr": "10.0.0.0/8", "within": ["10.0.0.0/16"]})),
    "except without a network": (REFUSED, to({"dnsName": "a.b", "except": ["10.0.0.0/16"]})),
    "empty within": (REFUSED, to({"dnsName": "a.b", "within": []})),
    "empty except": (REFUSED, to({"cidr": "10.0.0.0/8", "except": []})),
    "no name": (REFUSED, to({"dnsName": ""})),
    "last dot": (REFUSED, to({"dnsName": "packages.example.org."})),
    "capital letters": (REFUSED, to({"dnsName": "Packages.Example.org"})),
    "umlauts": (REFUSED, to({"dnsName": "bücher.example"})),
    "no dot": (REFUSED, to({"dnsName": "localhost"})),
    "an address as a name": (REFUSED, to({"dnsName": "10.0.0.1"})),
    "a wildcard of an address": (REFUSED, to({"dnsName": "*.0.0.1"})),
    "a wildcard inside": (TAKEN, to({"dnsName": "a.*.example.com"})),
    "half a wildcard": (TAKEN, to({"dnsName": "a*.example.com"})),
    "letters before a wildcard and behind": (TAKEN, to({"dnsName": "gpu-*-west.example.com"})),
    "two wildcards": (TAKEN, to({"dnsName": "*.*.example.com"})),
    "two wildcards in a label": (REFUSED, to({"dnsName": "a*b*.example.com"})),
    "two stars": (REFUSED, to({"dnsName": "**.example.com"})),
    "a wildcard at the end": (REFUSED, to({"dnsName": "www.example.*"})),
    "a wildcard in the last label": (REFUSED, to({"dnsName": "www.c*m"})),
    "half a wildcard without a dot": (REFUSED, to({"dnsName": "gpu-*"})),
    "a wildcard of nothing": (REFUSED, to({"dnsName": "*."})),
    "an underscore": (TAKEN, to({"dnsName": "_dmarc.example.com"})),
    "a long label": (REFUSED, to({"dnsName": f"{LABEL_63}a.example"})),
    "a long name": (REFUSED, to({"dnsName": ".".join([LABEL_63] * 4)})),
    "a URL": (REFUSED, to({"dnsName": "https://packages.example.org"})),
    "a newline": (REFUSED, to({"dnsName": "packages.example.org\n"})),
    "a network without a prefix": (REFUSED, to({"cidr": "10.0.0.1"})),
    "a netmask": (REFUSED, to({"cidr": "10.0.0.0/255.0.0.0"})),
    "too long a prefix": (REFUSED, to({"cidr": "10.0.0.0/33"})),
    "a leading zero": (WEBHOOK, to({"cidr": "010.0.0.0/8"})),
    "a zone": (REFUSED, to({"cidr": "fe80::1%eth0/128"})),
    "a name as a network": (REFUSED, to({"cidr": "packages.example.org"})),
    "no network within": (REFUSED, to({"dnsName": "a.b", "within": ["a"]})),
    "a tag with a star": (REFUSED, to({"serviceTag": "Storage.*"})),
    "no tag": (REFUSED, to({"serviceTag": ""})),
    "a Service with a dot": (REFUSED, to({"service": {"name": "db.eval"}})),
    "a Service without a name": (REFUSED, to({"service": {}})),
    "Pods of every namespace": (REFUSED, to({"pods": {"namespace": "*"}})),
    "Pods by namespaces' labels": (
        TAKEN,
        to({"pods": {"namespaceSelector": {"matchLabels": {"team": "a"}}}}),
    ),
    "Pods of all namespaces": (TAKEN, to({"pods": {"namespaceSelector": {}}})),
    "Pods by a namespace and by labels": (
        REFUSED,
        to({"pods": {"namespace": "eval", "namespaceSelector": {}}}),
    ),
    "Pods by a broken label of namespaces": (
        REFUSED,
        to({"pods": {"namespaceSelector": {"matchLabels": {"team": "a b"}}}}),
    ),
    "Pods of no account": (REFUSED, to({"pods": {"serviceAccounts": []}})),
    "Pods of one account twice": (REFUSED, to({"pods": {"serviceAccounts": ["a", "a"]}})),
    "a set without a name": (REFUSED, to({"destinations": {"name": ""}})),
    "a set with ports": (REFUSED, to({"destinations": {"name": "pypi"}, "ports": HTTPS})),
    "sixteen sets": (TAKEN, to(*({"destinations": {"name": f"a{n}"}} for n in range(16)))),
    "seventeen sets": (REFUSED, to(*({"destinations": {"name": f"a{n}"}} for n in range(17)))),
    "too many excepts": (
        REFUSED,
        to({"cidr": "10.0.0.0/8", "except": [f"10.0.{n}.0/24" for n in range(65)]}),
    ),
    "no destinations": (REFUSED, {**ALLOWLIST, "to": []}),
    "too many": (REFUSED, to(*({"dnsName": f"a{n}.example"} for n in range(65)))),
    "not canonical": (WEBHOOK, to({"cidr": "10.0.0.1/8"})),
    "IPv6 in capitals": (WEBHOOK, to({"cidr": "2001:DB8::/32"})),
    "IPv4-mapped": (WEBHOOK, to({"cidr": "::ffff:10.0.0.0/104"})),
    "IPv4-mapped within": (WEBHOOK, to({"dnsName": "a.b", "within": ["::ffff:a00:0/104"]})),
    "except outside": (WEBHOOK, to({"cidr": "10.0.0.0/8", "except": ["11.0.0.0/16"]})),
    "except all": (WEBHOOK, to({"cidr": "10.0.0.0/8", "except": ["10.0.0.0/8"]})),
    "except of the other family": (WEBHOOK, to({"cidr": "10.0.0.0/8", "except": ["fd00::/64"]})),
    "except that overlap": (
        WEBHOOK,
        to({"cidr": "10.0.0.0/8", "except": ["10.0.0.0/9", "10.1.0.0/16"]}),
    ),
    "no punycode": (WEBHOOK, to({"dnsName": "xn--a.example"})),
    "reserved label": (WEBHOOK, to({"dnsName": "ab--cd.example"})),
    "one twice": (WEBHOOK, to({"dnsName": "a.b"}, {"dnsName": "a.b"})),
    "one in another": (WEBHOOK, to({"cidr": "10.0.0.0/8"}, {"cidr": "10.1.0.0/16"})),
}
PORTS: Final[Cases] = {
    "one": (TAKEN, ports(port(443))),
    "all": (TAKEN, ports(port(1, 65535))),
    "three protocols": (TAKEN, ports(port(53), port(53, None, "UDP"), port(53, None, "SCTP"))),
    "of a Service": (TAKEN, ports(port(443), service={"name": "db"})),
    "none": (REFUSED, ports()),
    "missing": (REFUSED, {**ALLOWLIST, "to": [{"dnsName": "packages.example.org"}]}),
    "null": (REFUSED, {**ALLOWLIST, "to": [{"dnsName": "packages.example.org", "ports": None}]}),
    "0": (REFUSED, ports(port(0))),
    "70000": (REFUSED, ports(port(70000))),
    "negative": (REFUSED, ports(port(-1))),
    "a name as a port": (REFUSED, ports(port("https"))),
    "a name": (TAKEN, ports({"protocol": "TCP", "name": "http"}, pods={})),
    "a name of a Service's": (
        TAKEN,
        ports({"protocol": "TCP", "name": "http"}, service={"name": "db"}),
    ),
    "a name of nobody's": (REFUSED, ports({"protocol": "TCP", "name": "http"})),
    "a name and a number": (REFUSED, ports({"protocol": "TCP", "name": "a", "port": 1}, pods={})),
    "a name with an end": (REFUSED, ports({"protocol": "TCP", "name": "a", "endPort": 9}, pods={})),
    "a name in capitals": (REFUSED, ports({"protocol": "TCP", "name": "Http"}, pods={})),
    "two names": (
        TAKEN,
        ports({"protocol": "TCP", "name": "a"}, {"protocol": "TCP", "name": "b"}, pods={}),
    ),
    "one name twice": (
        WEBHOOK,
        ports({"protocol": "TCP", "name": "a"}, {"protocol": "TCP", "name": "a"}, pods={}),
    ),
    "every port": (TAKEN, to({"pods": {}, "allPorts": True, **NO_PORTS})),
    "every port and one": (REFUSED, to({"pods": {}, "allPorts": True, "ports": HTTPS})),
    "not every port": (REFUSED, to({"pods": {}, "allPorts": False, **NO_PORTS})),
    "every port of a set": (REFUSED, to({"destinations": {"name": "pypi"}, "allPorts": True})),
    "an echo": (TAKEN, ports({"protocol": "ICMP", "type": 8})),
    "an echo reply": (TAKEN, ports({"protocol": "ICMP", "type": 0})),
    "an echo of IPv6": (TAKEN, ports({"protocol": "ICMPv6", "type": 128})),
    "an echo to a Service": (
        REFUSED,
        ports({"protocol": "ICMP", "type": 8}, service={"name": "db"}),
    ),
    "ICMP without a type": (REFUSED, ports({"protocol": "ICMP"})),
    "a type of TCP": (REFUSED, ports({"protocol": "TCP", "type": 8})),
    "a type beyond": (REFUSED, ports({"protocol": "ICMP", "type": 256})),
    "a type with an end": (REFUSED, ports({"protocol": "ICMP", "type": 8, "endPort": 9})),
    "a fraction": (REFUSED, ports(port(443.5))),
    "end before": (REFUSED, ports(port(443, 80))),
    "end the same": (REFUSED, ports(port(443, 443))),
    "end 70000": (REFUSED, ports(port(443, 70000))),
    "ICMP": (REFUSED, ports(port(443, None, "ICMP"))),
    "in lower case": (REFUSED, ports(port(443, None, "tcp"))),
    "no protocol": (REFUSED, ports({"port": 443})),
    "no port": (REFUSED, ports({"protocol": "TCP"})),
    "too many": (REFUSED, ports(*(port(n + 1) for n in range(33)))),
    "a range of a Service": (TAKEN, ports(port(1, 2), service={"name": "db"})),
    "one twice": (WEBHOOK, ports(port(443), port(443))),
    "ranges that overlap": (WEBHOOK, ports(port(1, 100), port(100, 200))),
}
ABOUT: Final[Cases] = {
    "accounts": (TAKEN, {**ALLOWLIST, "serviceAccounts": ["a", "b.c-d"]}),
    "workloads": (TAKEN, {**ALLOWLIST, "workloads": [{"kind": "Job", "name": "a.b"}]}),
    "the empty selector": (TAKEN, {**ALLOWLIST, "podSelector": {}}),
    "labels": (
        TAKEN,
        {**ALLOWLIST, "podSelector": {"matchLabels": {"a.b/c_D": "x.Y", "e": ""}}},
    ),
    "In": (TAKEN, expression("a", "In", "b", "c")),
    "Exists": (TAKEN, expression("a/b", "Exists")),
    "to evict": (TAKEN, {**ALLOWLIST, "whenExpired": "Evict"}),
    "umlauts": (TAKEN, {**ALLOWLIST, "reason": "ä" * 1024}),
    "spec is null": (REFUSED, None),
    "no account": (REFUSED, {**ALLOWLIST, "serviceAccounts": []}),
    "accounts missing": (REFUSED, without(ALLOWLIST, "serviceAccounts")),
    "every account": (REFUSED, {**ALLOWLIST, "serviceAccounts": ["*"]}),
    "one account twice": (REFUSED, {**ALLOWLIST, "serviceAccounts": ["a", "a"]}),
    "an account elsewhere": (REFUSED, {**ALLOWLIST, "serviceAccounts": ["eval/a"]}),
    "too many accounts": (
        REFUSED,
        {**ALLOWLIST, "serviceAccounts": [f"a{number}" for number in range(17)]},
    ),
    "a Pod selector alone": (
        REFUSED,
        {**without(ALLOWLIST, "serviceAccounts"), "podSelector": {"matchLabels": {"a": "b"}}},
    ),
    "no workload": (REFUSED, {**ALLOWLIST, "workloads": []}),
    "a workload of every name": (
        REFUSED,
        {**ALLOWLIST, "workloads": [{"kind": "Job", "name": "*"}]},
    ),
    "a kind in lower case": (REFUSED, {**ALLOWLIST, "workloads": [{"kind": "job", "name": "a"}]}),
    "a version": (
        REFUSED,
        {**ALLOWLIST, "workloads": [{"apiVersion": "v1", "kind": "Job", "name": "a"}]},
    ),
    "a value with a space": (REFUSED, {**ALLOWLIST, "podSelector": {"matchLabels": {"a": "b c"}}}),
    "In nothing": (REFUSED, expression("a", "In")),
    "Exists with values": (REFUSED, expression("a", "Exists", "b")),
    "another operator": (REFUSED, expression("a", "Gt", "1")),
    "a key with a space": (REFUSED, expression("a b", "Exists")),
    "no owner": (REFUSED, without(ALLOWLIST, "owner")),
    "empty owner": (REFUSED, {**ALLOWLIST, "owner": ""}),
    "no reason": (REFUSED, {**ALLOWLIST, "reason": ""}),
    "long reason": (REFUSED, {**ALLOWLIST, "reason": "a" * 1025}),
    "no end": (REFUSED, without(ALLOWLIST, "expiresAt")),
    "end null": (REFUSED, {**ALLOWLIST, "expiresAt": None}),
    "end empty": (REFUSED, {**ALLOWLIST, "expiresAt": ""}),
    "another zone": (REFUSED, {**ALLOWLIST, "expiresAt": "2031-12-31T18:00:00+02:00"}),
    "no such day": (REFUSED, {**ALLOWLIST, "expiresAt": "2031-02-30T18:00:00Z"}),
    "to keep": (REFUSED, {**ALLOWLIST, "whenExpired": "Keep"}),
    "an unknown field": (REFUSED, {**ALLOWLIST, "from": []}),
    "a key of matchLabels": (
        WEBHOOK,
        {**ALLOWLIST, "podSelector": {"matchLabels": {"a b": "c"}}},
    ),
    "a long prefix": (WEBHOOK, expression(f"{'a' * 254}/b", "Exists")),
}
SETS: Final[Cases] = {
    "plain": (TAKEN, SET),
    "with an end": (TAKEN, {**SET, "expiresAt": "2031-12-31T18:00:00Z"}),
    "without an end by null": (TAKEN, {**SET, "expiresAt": None}),
    "of all kinds": (
        TAKEN,
        shared(
            {"cidr": "10.0.0.0/8"},
            {"serviceTag": "Storage"},
            {"service": {"name": "db", "namespace": "eval"}},
            {"pods": {"namespace": "eval"}},
        ),
    ),
    "end empty": (REFUSED, {**SET, "expiresAt": ""}),
    "accounts": (REFUSED, {**SET, "serviceAccounts": ["a"]}),
    "a Service of nowhere": (REFUSED, shared({"service": {"name": "db"}})),
    "Pods of nowhere": (REFUSED, shared({"pods": {}})),
    "another set": (REFUSED, shared({"destinations": {"name": "pypi"}})),
    "no ports": (REFUSED, {**SET, "to": [{"dnsName": "packages.example.org"}]}),
    "no owner": (REFUSED, without(SET, "owner")),
    "nothing": (REFUSED, shared({})),
    "one twice": (WEBHOOK, shared({"dnsName": "a.b"}, {"dnsName": "a.b"})),
}
