"""By an independent judge, generated NetworkPolicies open what the intents say, and no more.

The intents are read twice: by Sallyport, whose policies the judge applies, and naively, connection
by connection. `policy_semantics.py` is the judge, checked against upstream's own truth tables.
"""

import pytest

from egress.render.target import Engine
from tests.harness.evidence import record
from tests.harness.oracles.cilium_semantics import Policies, Target
from tests.harness.oracles.policy_semantics import End
from tests.harness.sizes import PROOF, size
from tests.unit.egress.generated_worlds import made
from tests.unit.egress.reading import allowed
from tests.unit.egress.told_worlds import cluster_of, labelled, policies_of, rendered
from tests.unit.egress.tried import connections

CLUSTERS = size(ci=100, proof=2000)


def _compared(seed: int) -> tuple[int, int]:
    """Compare both readings on one cluster; give how many connections were tried, and opened."""
    world = made(seed)
    cluster = cluster_of(policies_of(world))
    judged = {pod: labelled(world, pod) for pod in world.pods}
    tried = opened = 0
    for source, target, on in connections(world):
        start = End(source.addresses[0], judged[source])
        end = End(target.address, judged[target.pod]) if target.pod else target
        wanted = allowed(world, source, target, on)
        assert cluster.allows(start, end, *on) == wanted, (seed, source, target, on)
        tried, opened = tried + 1, opened + wanted
    return tried, opened


def _compared_by_labels(seed: int) -> tuple[int, int]:
    """Compare what Cilium's policies open; give how many connections were tried, and opened."""
    world = made(seed)
    found = rendered(world, Engine("cilium", (1, 20), sctp=True))
    policies = Policies(tuple(item for each in found for item in each.objects))
    refused = any("different ports" in each.message for one in found for each in one.problems)
    judged = {pod: labelled(world, pod) for pod in world.pods}
    selecting = {pod: policies.of(judged[pod]) for pod in world.pods}
    tried = opened = 0
    for source, end, on in connections(world):
        if _on_a_node(end):
            continue
        names = tuple(each for each in world.answers if end.address in world.answers[each])
        to = Target(end.address, judged[end.pod] if end.pod else None, names)
        wanted = allowed(world, source, end, on, by_labels=True)
        said = selecting[source].allows(judged[source], to, *on)
        assert wanted or not said or _answered(names, end), (seed, source, end, on)
        assert said or not wanted or refused, (seed, source, end, on)
        tried, opened = tried + 1, opened + wanted
    return tried, opened


def _on_a_node(end: End) -> bool:
    return (end.pod is not None and end.pod.host_network) or end.address.startswith("10.9.0.")


def _answered(names: tuple[str, ...], end: End) -> bool:
    """Return whether it is an answer in a range that the Pod's account may reach another way."""
    return bool(names) and end.pod is None and end.address == "169.254.169.254"


@pytest.mark.proof
def test_cilium_opens_what_intents_say() -> None:
    """On every cluster Cilium's policies open the same, but what they refuse with the reason.

    To it neither Pods nor nodes are addresses; and where a name answers with an address that is
    reserved, it is denied, but to service accounts that another opening names it for.
    """
    results = [_compared_by_labels(seed) for seed in range(CLUSTERS)]
    tried, opened = (sum(each) for each in zip(*results, strict=True))
    assert tried / 200 < opened < tried / 2, "the clusters have too little, or too much, open"
    if PROOF:
        lines = [
            f"- the same {CLUSTERS} clusters, rendered for Cilium: {tried} connections, {opened} "
            "open; what a policy opens is named by an intent, and nothing is missing but what was "
            "refused with the reason",
        ]
        record("egress-equivalence-cilium", lines)


@pytest.mark.proof
def test_policies_open_what_intents_say() -> None:
    """On every generated cluster both readings agree on every connection that is tried."""
    results = [_compared(seed) for seed in range(CLUSTERS)]
    tried, opened = (sum(each) for each in zip(*results, strict=True))
    assert tried / 200 < opened < tried / 2, "the clusters have too little, or too much, open"
    if PROOF:
        lines = [
            f"- {CLUSTERS} generated clusters: allowlists, sets, rights, Services, names, tags",
            f"- {tried} connections judged (Pods and addresses, IPv4 and IPv6), {opened} open",
            "- by an evaluator of NetworkPolicy semantics that shares no code with Sallyport, and "
            "agrees with all 48 cases of Kubernetes' own tests: no difference",
        ]
        record("egress-equivalence", lines)
