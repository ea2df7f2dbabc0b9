"""A node on which a real policy engine, kube-router, enforces NetworkPolicies in both families.

What kube-router 2.1.0 needs beside it, as on any cluster, is in `_FIREWALL` and `_OWN_RULES`:
docs/evidence/egress-engine.md says what is open without.
"""

import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.harness.programs.availability import skip_or_fail
from tests.harness.programs.client import Json
from tests.harness.programs.node.footprint import footprint, only_node
from tests.harness.programs.node.node import (
    CONTROLLERS,
    NAME,
    Node,
    NodePrograms,
    NodeShape,
    require_node,
    running_node,
)
from tests.harness.programs.node.outside_world import start_outside
from tests.harness.programs.node.settings import LEASES
from tests.harness.programs.process import POLL_S, ServerFailedError, ServerProcess
from tests.tools.debian import provide_packages
from tests.tools.provide import CannotProvideError, provide

OWN: Final = ("10.87.0.1", "fd00:87::1")
"""The node's addresses."""
NODES: Final = ("10.87.0.0/24", "fd00:87::/64")
GATEWAYS: Final = ("10.88.0.1", "fd00:88::1")
"""The node's too: those by which its Pods reach everything."""
SERVICE_RANGES: Final = ("10.0.0.0/24", "fd00:10::/112")
SUBNETS: Final = ("10.88.0.0/24", "fd00:88::/64")

_ROUTED: Final = (
    {
        # Each Pod has a link of its own, as on AKS and with Cilium and Calico.
        "type": "ptp",
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": each}] for each in SUBNETS],
            "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}],
            "dataDir": LEASES,
        },
    },
)
SHAPE: Final = NodeShape(
    addresses=(f"{OWN[0]}/32", f"{OWN[1]}/128"),
    network=_ROUTED,
    apiserver_flags=("--bind-address=::", f"--service-cluster-ip-range={','.join(SERVICE_RANGES)}"),
    kubelet_flags=("--address=::",),
    controllers=(*CONTROLLERS, "endpointslice-controller"),
)

_ENGINE_TIMEOUT_S: Final = 60.0
_COMMANDS: Final = [
    f"{family}{command}"
    for family in ("iptables", "ip6tables")
    for command in ("", "-save", "-restore")
]
_FIREWALL: Final = """set -e
echo 1 > /proc/sys/net/ipv4/ip_forward
echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
# Refusals are told at once, however many: else whoever is refused tries for seconds.
echo 0 > /proc/sys/net/ipv4/icmp_ratelimit
echo 100000 > /proc/sys/net/ipv4/icmp_msgs_per_sec
echo 100000 > /proc/sys/net/ipv4/icmp_msgs_burst
echo 0 > /proc/sys/net/ipv6/icmp/ratelimit
for each in iptables ip6tables; do
  # What the engine has not let through is not forwarded; it knows a Pod only once it runs.
  $each -P FORWARD DROP
done
# The engine forbids a Pod even to ask for its gateway's link address (neighbour discovery, RFC
# 4861), unless a policy allows everything: its own mark lets that pass.
for each in 133 134 135 136; do
  discovery="-p ipv6-icmp --icmpv6-type $each"
  ip6tables -t mangle -A PREROUTING $discovery -j MARK --set-xmark 0x10000/0x10000
  ip6tables -A INPUT -i veth+ $discovery -j ACCEPT
done
"""
_OWN_RULES: Final = """set -e
for each in iptables ip6tables; do
  $each {action} INPUT -i veth+ -j DROP
  $each -t raw {action} PREROUTING -i veth+ -m rpfilter --invert -j DROP
done
"""
"""What the engine, which knows Pods by their addresses, does not do: close the node to what it has
not let through (from link-local addresses, or to the ports of Services on the node), and have each
Pod send from its own addresses alone."""


@dataclass(frozen=True)
class PolicedPrograms:
    """Where the programs of such a node are."""

    node: NodePrograms
    kube_router: Path
    packages: Path
    """The folder into which those of the firewall were unpacked."""


def _required() -> PolicedPrograms:
    """Return a node's programs and the engine's; as `require_node`."""
    what = "whether real packets keep to the policies"
    node = require_node(what)
    try:
        kube_router = provide("kube-router")
        packages = provide_packages("firewall-packages")
    except CannotProvideError as error:
        skip_or_fail(CannotProvideError(f"{what}: {error}"))
    return PolicedPrograms(node, kube_router, packages)


class PolicedNode:
    """A running node with kube-router, and the world outside it. Made by `running_policed_node`."""

    def __init__(self, node: Node, programs: PolicedPrograms) -> None:
        """Set up the firewall and start the engine.

        Raises:
            ServerFailedError: something did not work; with what it said.
        """
        self.node = node
        self._environment = _environment(node.folder / "firewall", programs)
        self.run("/bin/sh", "-c", _FIREWALL)
        self.add_own_rules()
        self._start_engine(programs.kube_router)

    def run(self, *command: str | Path) -> str:
        """Run a program of the firewall on the node and return what it printed."""
        done = subprocess.run(
            self.node.command("env", *self._environment, *command),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise ServerFailedError(f"{' '.join(map(str, command))}: {done.stderr}")
        return done.stdout

    def start(self, name: str, *command: str | Path) -> ServerProcess:
        """Start a program that uses the firewall; it ends with the node."""
        return self.node.start(name, self.node.command("env", *self._environment, *command))

    def wait_until_known(self, pods: Iterable[Json]) -> None:
        """Return once the engine has a chain for each of these Pods, in both families."""
        metadata = [each["metadata"] for each in pods]
        names = [f"name:{each['name']} namespace: {each['namespace']} " for each in metadata]
        deadline = time.monotonic() + _ENGINE_TIMEOUT_S
        while not all(name in rules for rules in self.rules() for name in names):
            if time.monotonic() > deadline:
                raise ServerFailedError(f"kube-router does not know all of {', '.join(names)}")
            time.sleep(POLL_S)

    def rules(self) -> list[str]:
        """Return the rules that are in force, of each family."""
        return [self.run(f"{each}-save") for each in ("iptables", "ip6tables")]

    def link_local_gateway(self, pod: str) -> str:
        """Return the link-local address, with the link as the Pod calls it, of a Pod's next hop.

        `pod` is its address of IPv6.
        """
        (route,) = self.run("busybox", "ip", "-6", "route", "show", f"{pod}/128").splitlines()
        link = route.split()[route.split().index("dev") + 1]
        shown = self.run("busybox", "ip", "-6", "addr", "show", "dev", link, "scope", "link")
        return f"{shown.split('inet6 ')[1].partition('/')[0]}%eth0"

    def add_own_rules(self) -> None:
        """Close what the engine does not look at."""
        self.run("/bin/sh", "-c", _OWN_RULES.format(action="-A"))

    def remove_own_rules(self) -> None:
        """Take that away again."""
        self.run("/bin/sh", "-c", _OWN_RULES.format(action="-D"))

    def _start_engine(self, kube_router: Path) -> None:
        flags = [
            f"--kubeconfig={self.node.apiserver.kubeconfig()}",
            f"--hostname-override={NAME}",
            "--run-firewall=true",
            "--run-router=false",
            "--run-service-proxy=false",
            "--enable-cni=false",
            "--enable-ipv4=true",
            "--enable-ipv6=true",
            f"--service-cluster-ip-range={','.join(SERVICE_RANGES)}",
            "--health-port=0",
        ]
        command = self.node.command("env", *self._environment, kube_router, *flags)
        running = self.node.start("kube-router", command)
        running.wait_until(self._engine_runs, _ENGINE_TIMEOUT_S)

    def _engine_runs(self) -> bool:
        return all("KUBE-NWPLCY-DEFAULT" in each for each in self.rules())


def _environment(folder: Path, programs: PolicedPrograms) -> list[str]:
    """Make a folder of programs, and give what `env` needs to run them."""
    folder.mkdir()
    packages = programs.packages
    (folder / "busybox").symlink_to(programs.node.busybox)
    (variants,) = packages.glob("usr/sbin/xtables-nft-multi")
    for command in _COMMANDS:
        (folder / command).symlink_to(variants)
    for command in ("conntrack", "ipset"):
        (folder / command).symlink_to(packages / "usr" / "sbin" / command)
    (libraries,) = packages.glob("usr/lib/*-linux-gnu*")
    return [
        f"PATH={folder}:/usr/sbin:/usr/bin:/sbin:/bin",
        f"LD_LIBRARY_PATH={libraries}",
        f"XTABLES_LIBDIR={libraries / 'xtables'}",
    ]


@contextmanager
def running_policed_node(
    folder: Path, outside: Iterable[str], shape: NodeShape = SHAPE
) -> Iterator[PolicedNode]:
    """Run such a node, its logs in `folder`; the thread is in its network as in `running_node`.

    `outside` are the places at which the world outside answers. It waits for other nodes on this
    machine to end, and sees that nothing of its own is left.
    """
    programs = _required()
    with only_node():
        before = footprint()
        with running_node(folder, programs.node, shape) as node:
            start_outside(node, str(programs.node.busybox), outside)
            yield PolicedNode(node, programs)
        assert footprint() == before
