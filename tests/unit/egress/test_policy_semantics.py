"""The independent judge of policies agrees with Kubernetes' own tests, and with what they lack."""

from itertools import product
from typing import Any

import pytest

from tests.harness.oracles.policy_semantics import Cluster, End, NamedPort, Pod, types_of
from tests.unit.egress import upstream
from tests.unit.egress.upstream import Case, Step

CASES = (
    *upstream.INGRESS_CASES,
    *upstream.EGRESS_CASES,
    *upstream.PROTOCOL_CASES,
)
UPSTREAM_CASES = 48
"""Those of network_policy.go in v1.36.3; network_policy_api.go has none of reachability."""

Json = dict[str, Any]


def _pod(text: str, labels: dict[str, str]) -> Pod:
    namespace, name = text.split("/")
    ports = tuple(
        NamedPort(f"serve-{port}-{protocol.lower()}", protocol, port)
        for port, protocol in product((80, 81), ("TCP", "UDP", "SCTP"))
    )
    address = upstream.ADDRESSES[text]
    return Pod(namespace, name, {"pod": name, **labels}, (address,), ports=ports)


def _means(pattern: str, pod: str) -> bool:
    return pattern in {"*", pod, pod.partition("/")[0]}


def _expected(step: Step, source: str, target: str) -> bool:
    found = True
    for each in step.expected:
        if _means(each.source, source) and _means(each.target, target):
            found = each.connected
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_upstream_case(case: Case) -> None:
    """Every Pod reaches exactly those of upstream's truth table, itself left out as there."""
    for step in case.steps:
        pods = {each: _pod(each, dict(step.pod_labels.get(each, {}))) for each in case.pods}
        spaces = {each: step.namespace_labels.get(each, {}) for each in "xyz"}
        cluster = Cluster(spaces, step.policies)
        for source, target in product(case.pods, repeat=2):
            ends = _at(pods[source]), _at(pods[target])
            found = cluster.allows(*ends, step.protocol, step.port)
            if source != target:
                assert found == _expected(step, source, target), (source, target, step)


def test_all_upstream_cases_are_here() -> None:
    """None is missing, and none is twice."""
    assert len({case.title for case in CASES}) == len(CASES) == UPSTREAM_CASES


A = Pod("x", "a", {"app": "a"}, ("10.0.0.1", "fd00:1::1"))
B = Pod("x", "b", {"app": "b"}, ("10.0.0.2",), ports=(NamedPort("web", "TCP", 8080),))
ON_NODE = Pod("x", "n", {"app": "n"}, ("10.9.0.1",), host_network=True)
OUTSIDE = End("192.0.2.1")


def _out(target: End, rule: Json, protocol: str = "TCP", port: int = 80, source: Pod = A) -> bool:
    """Return whether a Pod reaches a target under one egress policy with one rule."""
    spec = {"podSelector": {}, "policyTypes": ["Egress"], "egress": [rule]}
    cluster = Cluster({"x": {}}, ({"metadata": {"namespace": "x"}, "spec": spec},))
    return cluster.allows(End(source.addresses[0], source), target, protocol, port)


def _at(pod: Pod) -> End:
    return End(pod.addresses[0], pod)


@pytest.mark.parametrize("rule", [{}, {"to": []}, {"ports": []}, {"to": None, "ports": None}])
def test_empty_is_everything(rule: Json) -> None:
    """An absent or empty `to` or `ports` matches all: inside, outside, every protocol."""
    assert _out(OUTSIDE, rule)
    assert _out(_at(B), rule, "SCTP", 9)


@pytest.mark.parametrize(("port", "connected"), [(79, False), (80, True), (90, True), (91, False)])
def test_end_port_is_included(port: int, connected: bool) -> None:  # noqa: FBT001  A case.
    """`endPort` is the last port of the range, of that protocol alone."""
    rule = {"ports": [{"protocol": "UDP", "port": 80, "endPort": 90}]}
    assert _out(OUTSIDE, rule, "UDP", port) == connected
    assert not _out(OUTSIDE, rule, "TCP", port)


def test_no_protocol_is_tcp() -> None:
    """A port without a protocol is a port of TCP."""
    assert _out(OUTSIDE, {"ports": [{"port": 53}]}, "TCP", 53)
    assert not _out(OUTSIDE, {"ports": [{"port": 53}]}, "UDP", 53)


def test_a_named_port_is_the_targets_own() -> None:
    """A port's name means what the target Pod declares under it; addresses outside declare none."""
    rule = {"ports": [{"port": "web"}]}
    assert _out(_at(B), rule, "TCP", 8080)
    assert not _out(_at(B), rule, "TCP", 80)
    assert not _out(_at(B), rule, "UDP", 8080)
    assert not _out(OUTSIDE, rule, "TCP", 8080)


def test_blocks_of_both_families() -> None:
    """A block holds addresses of its own family, less its exceptions; Pods' addresses too."""
    four = {"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["192.0.2.0/25"]}}]}
    six = {"to": [{"ipBlock": {"cidr": "::/0", "except": ["2001:db8:1::/48"]}}]}
    assert not _out(OUTSIDE, four)
    assert _out(End("192.0.2.128"), four)
    assert not _out(End("2001:db8::1"), four)
    assert _out(End("2001:db8::1"), six)
    assert not _out(End("2001:db8:1::1"), six)
    assert not _out(End("192.0.2.128"), six)
    assert _out(_at(B), four)


@pytest.mark.parametrize(
    ("expression", "connected"),
    [
        ({"operator": "In", "values": ["a", "b"]}, True),
        ({"operator": "In", "values": ["a"]}, False),
        ({"operator": "NotIn", "values": ["a"]}, True),
        ({"operator": "NotIn", "values": ["b"]}, False),
        ({"operator": "Exists"}, True),
        ({"operator": "DoesNotExist"}, False),
    ],
)
def test_operators_on_a_label_that_is_there(expression: Json, connected: bool) -> None:  # noqa: FBT001
    """The four operators of `matchExpressions`, on a Pod that has the label."""
    selector = {"matchExpressions": [{"key": "app", **expression}]}
    assert _out(_at(B), {"to": [{"podSelector": selector}]}) == connected


def test_operators_on_a_label_that_is_missing() -> None:
    """NotIn and DoesNotExist match what lacks the label; In and Exists do not."""
    for operator, connected in (("NotIn", True), ("DoesNotExist", True), ("In", False)):
        selector = {"matchExpressions": [{"key": "no", "operator": operator, "values": ["x"]}]}
        assert _out(_at(B), {"to": [{"podSelector": selector}]}) == connected
    exists = {"matchExpressions": [{"key": "no", "operator": "Exists"}]}
    assert not _out(_at(B), {"to": [{"podSelector": exists}]})


def test_selectors_are_of_pods_only() -> None:
    """What is outside of the cluster, or on a node's network, matches no selector of Pods."""
    everything: Json = {"to": [{"namespaceSelector": {}}]}
    assert _out(_at(B), everything)
    assert not _out(OUTSIDE, everything)
    assert not _out(_at(ON_NODE), everything)
    assert _out(_at(ON_NODE), {"to": [{"ipBlock": {"cidr": "10.9.0.1/32"}}]})


def test_no_policy_is_about_pods_on_their_nodes_network() -> None:
    """A Pod with `hostNetwork` connects wherever it likes."""
    nothing = {"to": [{"podSelector": {"matchLabels": {"no": "such"}}}]}
    assert not _out(OUTSIDE, nothing)
    assert _out(OUTSIDE, nothing, source=ON_NODE)


def test_a_pod_reaches_itself() -> None:
    """No policy keeps a Pod from itself, whichever of its addresses is used."""
    assert _out(End(A.addresses[1], A), {"to": [{"podSelector": {"matchLabels": {"no": "x"}}}]})


@pytest.mark.parametrize(
    ("spec", "types"),
    [
        ({}, ["Ingress"]),
        ({"ingress": []}, ["Ingress"]),
        ({"egress": []}, ["Ingress"]),
        ({"egress": [{}]}, ["Ingress", "Egress"]),
        ({"egress": [{}], "policyTypes": ["Egress"]}, ["Egress"]),
        ({"ingress": [{}], "policyTypes": ["Egress"]}, ["Egress"]),
    ],
)
def test_types_by_default(spec: Json, types: list[str]) -> None:
    """Without `policyTypes` a policy is about ingress, and about egress if it has such rules."""
    assert types_of(spec) == types
