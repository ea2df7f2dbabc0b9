"""What lies outside a node: addresses of the internet, of a cloud's services, of another node.

A network of its own behind one link, with servers that say who they are. It has no other link.
"""

from collections.abc import Iterable
from typing import Final

from tests.harness.programs.node.node import Node
from tests.harness.programs.probing.connections import ENVIRONMENT, START_TIMEOUT_S, server_command

NAME: Final = "outside"
"""What its servers call themselves."""
INTERNET: Final = ("203.0.113.10", "2001:db8:1::10")
NEIGHBOUR: Final = ("203.0.113.11", "2001:db8:1::11")
"""Beside `INTERNET`, in the same /24 and /64."""
ELSEWHERE: Final = ("198.51.100.7", "2001:db8:2::7")
METADATA: Final = ("169.254.169.254", "fd00:ec2::254")
OTHER_METADATA: Final = "fd20:ce::254"
WIRE_SERVER: Final = "168.63.129.16"
"""Azure's: learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16."""
NEAR_WIRE_SERVER: Final = "168.63.129.17"
OTHER_NODE: Final = ("10.87.0.2", "fd00:87::2")
ADDRESSES: Final = (
    *INTERNET,
    *NEIGHBOUR,
    *ELSEWHERE,
    *METADATA,
    OTHER_METADATA,
    WIRE_SERVER,
    NEAR_WIRE_SERVER,
    *OTHER_NODE,
)

_LINK: Final = "outside0"
_NODE_SIDE: Final = ("172.31.0.1", "fd00:31::1")
_OUTSIDE: Final = ("172.31.0.2", "fd00:31::2")
_NODE_SCRIPT: Final = """set -e
"$BUSYBOX" ip link add $LINK type veth
unshare --net /bin/sh -c "$INSIDE" &
until [ "$(readlink /proc/$!/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
# Busybox does not name the other end of a link, and the kernel calls the first one so.
"$BUSYBOX" ip link set veth0 netns $!
echo 0 > /proc/sys/net/ipv6/conf/$LINK/accept_dad
"$BUSYBOX" ip addr add $NODE4/30 dev $LINK
"$BUSYBOX" ip addr add $NODE6/126 dev $LINK
"$BUSYBOX" ip link set $LINK up
"$BUSYBOX" ip route add default via $OUTSIDE4
"$BUSYBOX" ip -6 route add default via $OUTSIDE6
wait
"""
_OUTSIDE_SCRIPT: Final = """set -e
until [ -e /sys/class/net/veth0 ] || "$BUSYBOX" ip link show veth0 2>/dev/null; do sleep 0.02; done
echo 0 > /proc/sys/net/ipv6/conf/veth0/accept_dad
"$BUSYBOX" ip link set lo up
"$BUSYBOX" ip addr add $OUTSIDE4/30 dev veth0
"$BUSYBOX" ip addr add $OUTSIDE6/126 dev veth0
for address in $ADDRESSES; do "$BUSYBOX" ip addr add $address dev lo; done
"$BUSYBOX" ip link set veth0 up
# Nobody can listen on an address of IPv6 before the kernel has settled it, even on loopback.
while "$BUSYBOX" ip addr | "$BUSYBOX" grep -q tentative; do sleep 0.02; done
"$BUSYBOX" ip route add default via $NODE4
"$BUSYBOX" ip -6 route add default via $NODE6
exec $SERVERS
"""


def start_outside(node: Node, busybox: str, places: Iterable[str]) -> None:
    """Make it, with servers at `places` (`TCP,203.0.113.10,443`); it ends with the node."""
    ready = node.folder / f"{NAME}.ready"
    running = node.start(
        NAME,
        node.command("/bin/sh", "-c", _NODE_SCRIPT),
        {
            **ENVIRONMENT,
            "BUSYBOX": busybox,
            "LINK": _LINK,
            "NODE4": _NODE_SIDE[0],
            "NODE6": _NODE_SIDE[1],
            "OUTSIDE4": _OUTSIDE[0],
            "OUTSIDE6": _OUTSIDE[1],
            "INSIDE": _OUTSIDE_SCRIPT,
            "ADDRESSES": " ".join(ADDRESSES),
            "SERVERS": " ".join(map(str, server_command(ready, NAME, places))),
        },
    )
    running.wait_until(ready.exists, START_TIMEOUT_S)
