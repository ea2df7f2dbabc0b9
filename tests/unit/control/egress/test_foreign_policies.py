"""Which policies of others open more than is wanted, however many there are."""

from typing import Any

import msgspec
import pytest

from control.egress.foreign_policies import UNCOMPARED, find_wider_policies
from egress.render.generated_objects import generated_object
from kube.egress.network_policies import LivePolicy, live_policy

Json = dict[str, Any]


def opens(name: str, *cidrs: str, first: int = 443, last: int = 443) -> LivePolicy:
    """Return somebody's policy that opens networks to all Pods."""
    port = {"protocol": "TCP", "port": first, "endPort": last}
    spec = {
        "podSelector": {},
        "egress": [{"to": [{"ipBlock": {"cidr": each}} for each in cidrs], "ports": [port]}],
    }
    metadata = {"name": name, "namespace": "a", "uid": name, "resourceVersion": "1"}
    return live_policy({"metadata": metadata, "spec": spec}, "NetworkPolicy")


def wanted(*cidrs: str) -> Json:
    """Return a policy of Sallyport's that opens networks to all Pods."""
    spec = msgspec.json.decode(opens("x", *cidrs).spec)
    metadata = {"name": "sallyport-allow-x-0", "namespace": "a"}
    return generated_object("networking.k8s.io/v1", "NetworkPolicy", metadata, spec, allowlist="x")


async def test_those_that_open_more_are_told_with_what() -> None:
    """What an allowlist says too is nobody's trouble."""
    live = [opens("same", "20.0.0.0/24"), opens("more", "20.0.0.0/24", "20.9.0.0/24")]
    found = [each async for each in find_wider_policies(live, [wanted("20.0.0.0/24")])]
    assert [(policy.name, more) for policy, more in found] == [("more", "20.9.0.0/24 on TCP 443")]


async def test_what_cannot_be_read_is_told() -> None:
    """A network in another writing is not taken for one that opens nothing."""
    found = [each async for each in find_wider_policies([opens("odd", "20.0.0.1/24")], [])]
    assert ["cannot be compared" in more for _, more in found] == [True]


async def test_very_many_hold_up_no_other_namespace() -> None:
    """After a while the others are told as not compared, which is no reason to delete one."""
    live = [opens(f"p{each}", f"20.{each}.0.0/16") for each in range(50)]
    found = [each async for each in find_wider_policies(live, [], longest_s=0.0)]
    assert [more for _, more in found] == [UNCOMPARED] * len(live)


@pytest.mark.parametrize("last", [443, 60_000])
async def test_ports_are_compared_too(last: int) -> None:
    """A range that is wider than what is wanted opens more."""
    live = [opens("ports", "20.0.0.0/24", last=last)]
    found = [each async for each in find_wider_policies(live, [wanted("20.0.0.0/24")])]
    assert bool(found) == (last > 443)
