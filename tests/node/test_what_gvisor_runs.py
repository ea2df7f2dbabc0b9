"""What the compatibility table says of gVisor (sandbox/compatibility.py), on a real runsc.

Beside each Pod under gVisor the same one runs under runc where the difference is what is shown.
"""

import asyncio
import copy
from typing import Any, Final

import pytest

from tests.harness.programs.client import Client, Json, connect
from tests.harness.programs.node.images import BUSYBOX
from tests.harness.programs.node.node import Node
from tests.node.conftest import GVISOR
from tests.node.pods import pod, refused_by_node, run
from tests.tools.provide import provide

RUNS: Final = "what-gvisor-runs"
AS_ROOT: Final = {"securityContext": {"runAsUser": 0, "runAsNonRoot": False}}
NO_MKDIR: Final = (
    '{"defaultAction":"SCMP_ACT_ALLOW",'
    '"syscalls":[{"names":["mkdir","mkdirat"],"action":"SCMP_ACT_ERRNO"}]}'
)


@pytest.fixture(scope="module", autouse=True)
def _namespace(node: Node) -> None:
    """The namespace of these Pods, and a seccomp profile that the node's kubelet finds."""

    async def prepare() -> None:
        async with connect(node.apiserver) as client:
            await client.create_namespace(RUNS)
            profiles = mounted({"hostPath": {"path": "/var/lib/kubelet"}}, **AS_ROOT)
            write = f"mkdir -p /v/seccomp; echo '{NO_MKDIR}' >/v/seccomp/no-mkdir.json"
            await run(client, changed("writes-profile", write, **profiles))

    asyncio.run(prepare())


def changed(name: str, command: str, *, container: Json | None = None, **fields: Any) -> Json:
    """Return a Pod with these fields, and its container's.

    Security contexts add to what is there.
    """
    made = pod(RUNS, name, command)
    spec, first = made["spec"], made["spec"]["containers"][0]
    for of, given in ((spec, fields), (first, dict(container or {}))):
        of["securityContext"] |= given.pop("securityContext", {})
        of.update(given)
    return made


def mounted(volume: Json, mount: Json | None = None, **fields: Any) -> dict[str, Any]:
    """Return the fields of a Pod that mounts a volume at /v."""
    mounts = [{"name": "v", "mountPath": "/v", **(mount or {})}]
    volumes = [{"name": "v", **volume}]
    return {"volumes": volumes, "container": {"volumeMounts": mounts}, **fields}


async def sandboxed(client: Client, item: Json) -> str:
    """Run a Pod under gVisor and give what it printed."""
    item["spec"]["runtimeClassName"] = GVISOR
    return (await run(client, item)).printed


async def both(client: Client, item: Json) -> tuple[str, str]:
    """Run a Pod under runc and under gVisor and give what each printed."""
    plain = copy.deepcopy(item)
    plain["metadata"]["name"] += "-runc"
    ran, inside = await asyncio.gather(run(client, plain), sandboxed(client, item))
    return ran.printed, inside


LOGS: Final = {"hostPath": {"path": "/var/log"}}
WORKS: Final = {
    "sub-path": (
        changed("sub", "echo a >/v/a && cat /v/a", **mounted({"emptyDir": {}}, {"subPath": "s"})),
        "a",
    ),
    "image as a volume": (
        changed(
            "image",
            "ls /v/bin | grep -x busybox",
            **mounted({"image": {"reference": BUSYBOX, "pullPolicy": "Never"}}),
        ),
        "busybox",
    ),
    "shared processes": (
        # The first process is then the one that keeps the Pod.
        changed("shared", "tr '\\0' ' ' </proc/1/cmdline", shareProcessNamespace=True),
        "sleep 2147483647",
    ),
    "groups": (
        changed(
            "groups",
            "id -G",
            securityContext={
                "supplementalGroups": [4242],
                "supplementalGroupsPolicy": "Strict",
                "fsGroup": 4343,
            },
        ),
        "65532 4242 4343",
    ),
    "port below 1024": (
        changed(
            "port",
            "nc -l -p 80 >/dev/null & sleep 1; echo | nc -w 1 127.0.0.1 80 && echo connected",
        ),
        "connected",
    ),
    "path of the node to read": (
        changed(
            "logs",
            "ls /v | grep -x pods; touch /v/a 2>/dev/null || echo only",
            **mounted(LOGS, {"readOnly": True, "mountPropagation": "HostToContainer"}),
        ),
        "pods only",
    ),
}


async def test_what_the_table_does_not_name_works(admin: Client) -> None:
    """As under runc."""
    printed = await asyncio.gather(*(sandboxed(admin, item) for item, _ in WORKS.values()))
    found = {name: " ".join(said.split()) for name, said in zip(WORKS, printed, strict=True)}
    assert found == {name: said for name, (_, said) in WORKS.items()}


async def test_a_seccomp_profile_of_the_node_is_ignored(admin: Client) -> None:
    """Under runc it forbids the call; runsc says nothing of it and lets the call pass."""
    profile = {"type": "Localhost", "localhostProfile": "no-mkdir.json"}
    context = {"seccompProfile": profile}
    command = "mkdir /v/a 2>/dev/null && echo made || echo refused"
    item = changed("seccomp", command, **mounted({"emptyDir": {}}, securityContext=context))
    assert await both(admin, item) == ("refused\n", "made\n")


async def test_a_kernel_parameter_is_ignored(admin: Client) -> None:
    """One that Kubernetes calls safe."""
    sysctls = [{"name": "net.ipv4.ip_local_port_range", "value": "40000 41000"}]
    item = changed(
        "sysctl",
        "cat /proc/sys/net/ipv4/ip_local_port_range",
        securityContext={"sysctls": sysctls},
    )
    plain, inside = await both(admin, item)
    assert plain.split() == ["40000", "41000"]
    assert inside.split() != ["40000", "41000"]


async def test_raw_packets_are_taken_away(admin: Client) -> None:
    """The capability that the Pod was given is not there."""
    adds = {"securityContext": {"capabilities": {"drop": ["ALL"], "add": ["NET_RAW"]}}}
    item = changed("raw", "grep CapBnd /proc/self/status", container=adds, **AS_ROOT)
    plain, inside = await both(admin, item)
    assert (int(plain.split()[1], 16), int(inside.split()[1], 16)) == (1 << 13, 0)


async def test_a_socket_of_the_node_cannot_be_connected_to(admin: Client) -> None:
    """Under runc a read-only mount of it is the whole node's containerd."""
    ctr = provide("ctr")
    volumes = [
        {"name": "run", "hostPath": {"path": "/run/containerd"}},
        {"name": "ctr", "hostPath": {"path": str(ctr.parent)}},
    ]
    mounts = [{"name": v["name"], "mountPath": f"/{v['name']}s", "readOnly": True} for v in volumes]
    command = f"/ctrs/{ctr.name} --connect-timeout 1s -a /runs/containerd.sock version 2>&1 || true"
    item = changed(
        "socket", command, volumes=volumes, container={"volumeMounts": mounts}, **AS_ROOT
    )
    plain, inside = await both(admin, item)
    assert "Server:" in plain
    assert "Server:" not in inside
    assert "connection refused" in inside


async def test_namespaces_of_the_node_are_not_there(admin: Client) -> None:
    """A Pod that asks for its processes sees its own, for its network none at all."""
    processes = changed("host-pid", "ps", hostPID=True)
    network = changed("host-network", "ip addr", hostNetwork=True)
    (plain, inside), (addresses, none) = await asyncio.gather(
        both(admin, processes), both(admin, network)
    )
    assert "kubelet" in plain
    assert "kubelet" not in inside
    assert "127.0.0.1" in addresses
    assert "127.0.0.1" not in none


@pytest.mark.parametrize(
    ("item", "reason", "said"),
    [
        (changed("users", "true", hostUsers=False), "FailedCreatePodSandBox", "user"),
        (
            changed(
                "recursive",
                "true",
                **mounted(LOGS, {"readOnly": True, "recursiveReadOnly": "Enabled"}),
            ),
            "Failed",
            "recursive read-only",
        ),
    ],
)
async def test_what_keeps_a_pod_from_starting(
    admin: Client, item: Json, reason: str, said: str
) -> None:
    """A user namespace, and a mount below which nothing may be writable."""
    item["spec"]["runtimeClassName"] = GVISOR
    await admin.create(item)
    why = await refused_by_node(admin, RUNS, item["metadata"]["name"], reason)
    found = await admin.get("v1", "Pod", item["metadata"]["name"], RUNS)
    await admin.delete(item)
    assert said in why
    assert found["status"]["phase"] == "Pending"
