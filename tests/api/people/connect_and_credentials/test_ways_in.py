"""Each way into a Pod, a Service or a node is refused to whoever has no profile for it."""

import pytest

from tests.api.people.connect_and_credentials.requests import NAMESPACE, Visitors, Way, ask, of_pod

SHELL = of_pod("llama-0", "exec", "command=bash&stdin=true&tty=true")
_NODE = "/api/v1/nodes/gpu-7"

REFUSED = [
    (SHELL, {"exec/interactive", "exec/command/bash"}),
    (
        of_pod("llama-0", "exec", "command=bash&stdin=true&tty=true", "GET"),
        {"exec/interactive", "exec/command/bash"},
    ),
    (of_pod("llama-0", "exec", "command=nvidia-smi"), {"exec/command/nvidia-smi"}),
    (of_pod("llama-0", "exec", "command=/bin/nvidia-smi"), {"exec/command/nvidia-smi"}),
    (
        of_pod("llama-0", "exec", "command=/tmp/nvidia-smi"),
        {"exec/command/%2Ftmp%2Fnvidia-smi"},
    ),
    (
        of_pod("llama-0", "exec", "command=/usr/bin/../../tmp/nvidia-smi"),
        {"exec/command/%2Fusr%2Fbin%2F..%2F..%2Ftmp%2Fnvidia-smi"},
    ),
    (
        of_pod("llama-0", "exec", "command=sh&command=-c&command=nvidia-smi"),
        {"exec/command/sh", "exec/code/sh"},
    ),
    (
        of_pod("llama-0", "exec", "command=env&command=bash"),
        {"exec/command/env", "exec/code/env"},
    ),
    (
        of_pod("llama-0", "exec", "command=busybox&command=nc&command=-lp&command=4444"),
        {"exec/command/busybox", "exec/code/busybox"},
    ),
    (
        of_pod("llama-0", "exec", "command=cat&stdin=true"),
        {"exec/command/cat", "exec/interactive"},
    ),
    (of_pod("llama-0", "attach", "stdin=true"), {"attach/interactive"}),
    (of_pod("llama-0", "attach", "stdout=true", "GET"), {"attach/output"}),
    (of_pod("llama-0", "portforward"), {"port-forward/any"}),
    (of_pod("llama-0", "portforward", "ports=8888", "GET"), {"port-forward/any"}),
    (of_pod("llama-0:8888", "proxy", "", "GET"), {"proxy/pod/8888"}),
    (of_pod("https:llama-0:8888", "proxy/api/kernels", "", "PUT"), {"proxy/pod/8888"}),
    (
        Way("service", f"/api/v1/namespaces/{NAMESPACE}/services/web:http/proxy/", "GET"),
        {"proxy/service/http"},
    ),
    (Way("metrics", f"{_NODE}/proxy/metrics", "GET"), {"proxy/node/kubelet/metrics"}),
    (
        Way("node exec", f"{_NODE}/proxy/exec/{NAMESPACE}/llama-0/main?command=id", "GET"),
        {"proxy/node/kubelet/exec"},
    ),
    (
        Way("climbing", f"{_NODE}/proxy/metrics/%2e%2e/run/{NAMESPACE}/llama-0/main"),
        {"proxy/node/kubelet/run"},
    ),
    (
        Way("climbing, encoded", f"{_NODE}/proxy/metrics%2F..%2Frun/{NAMESPACE}/llama-0/main"),
        {"proxy/node/kubelet/run"},
    ),
    (Way("other port", f"{_NODE}:2379/proxy/v3/kv", "POST"), {"proxy/node/2379/v3"}),
    (
        Way("path in the query", f"{_NODE}/proxy/exec/a/b/c?path=/metrics", "GET"),
        {"proxy/node/kubelet/exec"},
    ),
]


@pytest.mark.parametrize(("way", "privileges"), REFUSED, ids=lambda each: getattr(each, "name", ""))
async def test_nobody_gets_in_without_a_profile(
    visitors: Visitors, way: Way, privileges: set[str]
) -> None:
    """RBAC allows it all; the gate refuses, and names what the way takes."""
    asked = await ask(visitors.nobody(), way)
    assert asked.refused, asked
    assert asked.privileges == privileges


async def test_those_of_the_pods_profile_get_in(visitors: Visitors) -> None:
    """`restricted` covers the Pod and the ways into it; kube-apiserver then finds no node."""
    for way in (SHELL, of_pod("llama-0", "attach", "stdin=true"), of_pod("llama-0", "portforward")):
        asked = await ask(visitors.using("restricted"), way)
        assert not asked.refused
        assert "does not have a host assigned" in asked.message


async def test_isolated_lets_nobody_in(visitors: Visitors) -> None:
    """It covers Pods alone."""
    asked = await ask(visitors.using("isolated"), SHELL)
    assert {"exec/interactive", "exec/command/bash"} <= asked.privileges


@pytest.mark.parametrize(
    ("profile", "refused"), [("restricted", True), ("node-agent", False), ("pss-privileged", False)]
)
async def test_a_privileged_pod_takes_a_profile_that_covers_it(
    visitors: Visitors, profile: str, *, refused: bool
) -> None:
    """The right to enter is not the right to be privileged."""
    way = of_pod("agent-0", "exec", "command=bash&stdin=true")
    asked = await ask(visitors.using(profile), way)
    assert asked.refused is refused, asked
    if refused:
        assert "container/privileged" in asked.privileges
        assert "spec.containers[0].securityContext.privileged of Pod agent-0" in asked.message
        assert "Entering a Pod takes one profile of your own" in asked.message


async def test_a_list_of_commands_is_no_shell(visitors: Visitors) -> None:
    """Whoever may run python3 may not hand it code, nor run nvidia-smi from elsewhere."""
    client = visitors.using("commands")
    allowed = ("command=nvidia-smi", "command=nvidia-smi&command=-L", "command=/usr/bin/nvidia-smi")
    for query in allowed:
        assert not (await ask(client, of_pod("llama-0", "exec", query))).refused
    for query in (
        "command=python3&command=-c&command=1",
        "command=python3&stdin=true",
        "command=/tmp/nvidia-smi",
        "command=./nvidia-smi",
        "command=sh&command=-c&command=nvidia-smi",
        "command=nvidia-smi%20-L",
        "command=NVIDIA-SMI",
    ):
        assert (await ask(client, of_pod("llama-0", "exec", query))).refused, query


async def test_monitoring_gets_metrics_and_no_more(visitors: Visitors) -> None:
    """The first part of the path is what counts, as the node gets it."""
    client = visitors.using("monitoring")
    assert not (await ask(client, Way("", f"{_NODE}/proxy/metrics/cadvisor", "GET"))).refused
    for path in ("exec/a/b/c", "metrics/../exec/a/b/c", "metrics%2f..%2fexec/a/b/c", "", "configz"):
        asked = await ask(client, Way("", f"{_NODE}/proxy/{path}", "GET"))
        assert asked.refused, path


async def test_a_pod_that_is_not_there_is_not_found(visitors: Visitors) -> None:
    """As kube-apiserver says it."""
    asked = await ask(visitors.nobody(), of_pod("gone-0", "exec", "command=id"))
    assert "not found" in asked.message


async def test_excluded_namespaces_are_left_to_rbac(visitors: Visitors) -> None:
    """As for Pods: kube-system is repaired while no gate answers."""
    way = Way("", "/api/v1/namespaces/kube-system/pods/gone-0/exec?command=id")
    assert "not found" in (await ask(visitors.nobody(), way)).message
