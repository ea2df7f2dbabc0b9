"""Clusters with intents of all kinds that NetworkPolicies can say, made by chance from a seed.

Intents are plain JSON, as people write them; what they mean is read twice: by
`egress.compiler.allowlists`, and in `reading.py`, which shares no code with it.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Any, Final

from core.base.errors import InvalidObjectError
from tests.harness.oracles.policy_semantics import Pod, selector_matches
from tests.unit.egress.allowlist_objects import NOW, allowlist, destinations

Json = dict[str, Any]

ENROLLED: Final = ("alpha", "beta")
SPACES: Final = (*ENROLLED, "gamma")
ACCOUNTS: Final = ("s1", "s2", "a" * 70)
"""The last one is too long for a label."""
WORKLOADS: Final = (("Job", "fetch"), ("Deployment", "web"), None)
PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
NUMBERS: Final = (53, 80, 443, 8080, 9000)
RANGES: Final = ("10.244.0.0/16", "fd10:244::/32", "10.96.0.0/16", "10.9.0.0/24")
NETWORKS: Final = (
    *("192.0.2.0/24", "192.0.2.0/25", "192.0.2.128/25", "192.0.2.7/32", "10.0.0.0/8"),
    *("0.0.0.0/1", "128.0.0.0/1", "169.254.0.0/16", "169.254.169.254/32", "168.63.129.16/32"),
    *("10.244.1.0/24", "10.9.0.0/24", "10.9.0.1/32", "168.63.0.0/16", "172.16.0.0/12"),
    *(
        "2001:db8::/32",
        "2001:db8:1::/48",
        "::/1",
        "64:ff9b::/96",
        "fd00::/8",
        "fd00:ec2::254/128",
        "2000::/3",
    ),
)
NAMES: Final = (
    "packages.example.org",
    "models.example.com",
    "private.example.com",
    "gone.example.com",
)
TAGS: Final = ("Storage", "AzureKeyVault")
FAR: Final = "2026-12-31T00:00:00Z"
OVER: Final = "2026-01-01T00:00:00Z"
"""Before `NOW`."""


@dataclass(frozen=True)
class Service:
    """A Service: each of its ports is sent to a port of the Pods, by name perhaps another each."""

    namespace: str
    name: str
    selector: Mapping[str, str]
    ports: tuple[tuple[str, int], ...]

    def target(self, pod: Pod, protocol: str, port: int) -> int:
        """Return the port of a Pod that a port of the Service is sent to."""
        return 8000 + port % 100 + (1 if protocol == "TCP" and "tier" in pod.labels else 0)

    def backends(self, pods: Sequence[Pod]) -> list[Pod]:
        """Return the live Pods behind it."""
        selector = {"matchLabels": dict(self.selector)}
        return [
            pod
            for pod in pods
            if pod.namespace == self.namespace
            and not pod.host_network
            and selector_matches(selector, pod.labels)
        ]


@dataclass(frozen=True)
class World:
    """A cluster; of its Pods `labels` are what people wrote, without the gate's."""

    pods: tuple[Pod, ...]
    accounts: Mapping[Pod, str]
    workloads: Mapping[Pod, tuple[str, str] | None]
    services: tuple[Service, ...]
    answers: Mapping[str, tuple[str, ...]]
    """Addresses by DNS name."""
    tags: Mapping[str, tuple[str, ...]]
    allowlists: tuple[Json, ...]
    sets: tuple[Json, ...]
    usable: frozenset[tuple[str, str, str]]
    unapproved: frozenset[str]
    """UIDs."""
    now: float = NOW
    dice: random.Random = field(default_factory=random.Random, compare=False)


def made(seed: int) -> World:
    """Make a cluster."""
    dice = random.Random(seed)  # noqa: S311  Examples, not secrets.
    pods = tuple(_pods(dice))
    sets = tuple(_set(dice, number) for number in range(dice.randrange(3)))
    names = [each["metadata"]["name"] for each in sets] + ["missing"]
    allowlists = tuple(
        _allowlist(dice, space, number, names)
        for space in ENROLLED
        for number in range(dice.randrange(1, 5))
    )
    uids = [each["metadata"]["uid"] for each in (*allowlists, *sets)]
    return World(
        pods=pods,
        accounts={pod: dice.choice(ACCOUNTS) for pod in pods},
        workloads={pod: dice.choice(WORKLOADS) for pod in pods},
        services=tuple(_services(dice)),
        answers={name: _answers(dice, pods) for name in NAMES[:-1]},
        tags={tag: tuple(dice.sample(NETWORKS, 3)) for tag in TAGS},
        allowlists=allowlists,
        sets=sets,
        usable=frozenset(
            (space, account, name)
            for space in ENROLLED
            for account in ACCOUNTS
            for name in names
            if dice.random() < 0.8
        ),
        unapproved=frozenset(uid for uid in uids if dice.random() < 0.1),
        dice=dice,
    )


def _pods(dice: random.Random) -> list[Pod]:
    found = [Pod("kube-system", "dns", {"k8s-app": "kube-dns"}, ("10.244.0.2", "fd10:244::2"))]
    for row, space in enumerate(SPACES, start=1):
        for column in range(1, dice.randrange(2, 5)):
            labels = {"app": dice.choice("abc")} | ({"tier": "x"} if dice.random() < 0.5 else {})
            on_node = dice.random() < 0.1
            four = f"10.9.0.{row}" if on_node else f"10.244.{row}.{column}"
            six = () if on_node or dice.random() < 0.5 else (f"fd10:244:{row}::{column}",)
            found.append(Pod(space, f"p{column}", labels, (four, *six), host_network=on_node))
    return found


def _services(dice: random.Random) -> list[Service]:
    return [
        Service(
            space,
            f"svc-{app}",
            {"app": app},
            tuple({(dice.choice(PROTOCOLS), dice.choice(NUMBERS)) for _ in range(2)}),
        )
        for space in SPACES
        for app in "ab"
    ]


def _answers(dice: random.Random, pods: Sequence[Pod]) -> tuple[str, ...]:
    outside = ["192.0.2.7", "192.0.2.8", "192.0.2.200", "198.51.100.1", "2001:db8::7", "10.8.0.4"]
    inside = ["169.254.169.254", "10.9.0.1", "10.96.0.10", pods[-1].addresses[0]]
    return tuple(dice.sample(outside, dice.randrange(4)) + dice.sample(inside, dice.randrange(2)))


def _set(dice: random.Random, number: int) -> Json:
    spec: Json = {"to": _entries(dice, SPACES, ())}
    if dice.random() < 0.3:
        spec |= {"expiresAt": dice.choice((FAR, OVER))}
    return _object("EgressDestinations", {"name": f"set-{number}"}, spec)


def _allowlist(dice: random.Random, space: str, number: int, sets: Sequence[str]) -> Json:
    spec: Json = {
        "serviceAccounts": sorted(dice.sample(ACCOUNTS, dice.randrange(1, 4))),
        "to": _entries(dice, (*SPACES, ""), sets),
        "expiresAt": OVER if dice.random() < 0.1 else FAR,
    }
    if dice.random() < 0.3:
        kind, name = dice.choice((("Job", "fetch"), ("Deployment", "web")))
        spec["workloads"] = [{"kind": kind, "name": name}]
    if dice.random() < 0.3:
        spec["podSelector"] = _selector(dice)
    metadata = {"name": f"list-{number}", "namespace": space}
    if dice.random() < 0.05:
        metadata["deletionTimestamp"] = "2026-09-01T00:00:00Z"
    return _object("EgressAllowlist", metadata, spec)


def _object(kind: str, metadata: Json, spec: Json) -> Json:
    uid = f"{metadata.get('namespace', '')}/{metadata['name']}"
    return {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": kind,
        "metadata": {**metadata, "uid": uid},
        "spec": {"owner": "owner", "reason": "reason", **spec},
    }


def _entries(dice: random.Random, spaces: Sequence[str], sets: Sequence[str]) -> list[Json]:
    """Make entries of which none adds nothing to another, which an allowlist may not have."""
    found: list[Json] = []
    wanted, check = dice.randrange(1, 8), allowlist if sets else destinations
    while len(found) < wanted:
        entry = _entry(dice, spaces, sets)
        try:
            check(*found, entry)
        except InvalidObjectError:
            continue
        found.append(entry)
    return found


def _entry(dice: random.Random, spaces: Sequence[str], sets: Sequence[str]) -> Json:
    kinds = ["cidr", "cidr", "dnsName", "serviceTag", "service", "service", "pods", "pods", "pods"]
    kind = dice.choice(kinds + ["destinations"] * (2 if sets else 0))
    space = dice.choice(spaces)
    where = {"namespace": space} if space else {}
    if kind == "destinations":
        return {"destinations": {"name": dice.choice(sets)}}
    entry: Json = {"ports": _ports(dice, ranges=kind != "service")}
    if kind == "cidr":
        entry["cidr"] = dice.choice(NETWORKS)
        inside = [each for each in NETWORKS if _inside(each, entry["cidr"])]
        if inside and dice.random() < 0.5:
            entry["except"] = [dice.choice(inside)]
    elif kind == "dnsName":
        entry["dnsName"] = dice.choice(NAMES)
        if dice.random() < 0.3:
            entry["within"] = [dice.choice(NETWORKS)]
    elif kind == "serviceTag":
        entry["serviceTag"] = dice.choice((*TAGS, "Missing"))
    elif kind == "service":
        entry["service"] = {"name": dice.choice(("svc-a", "svc-b", "missing")), **where}
    else:
        entry["pods"] = {**where}
        if dice.random() < 0.4:
            entry["pods"]["serviceAccounts"] = [dice.choice(ACCOUNTS)]
        if dice.random() < 0.4:
            entry["pods"]["podSelector"] = _selector(dice)
    return entry


def _inside(inner: str, outer: str) -> bool:
    one, other = ip_network(inner), ip_network(outer)
    return inner != outer and one.version == other.version and one[0] in other and one[-1] in other


def _selector(dice: random.Random) -> Json:
    if dice.random() < 0.3:
        return {"matchLabels": {"app": dice.choice("abc")}}
    operator = dice.choice(("In", "NotIn", "Exists", "DoesNotExist"))
    values = {"values": dice.sample("abc", 2)} if operator in {"In", "NotIn"} else {}
    key = "app" if values else "tier"
    return {"matchExpressions": [{"key": key, "operator": operator, **values}]}


def _ports(dice: random.Random, *, ranges: bool) -> list[Json]:
    found = []
    for protocol in dice.sample(PROTOCOLS, dice.randrange(1, 3)):
        port = dice.choice(NUMBERS)
        end = {"endPort": port + dice.choice((1, 500))} if ranges and dice.random() < 0.3 else {}
        found.append({"protocol": protocol, "port": port, **end})
    return found
