"""Every field of a container that the Pod Security Standards name, with the values to ask about.

changes.py says where they are from.
"""

from collections.abc import Iterator
from typing import Any, Final

from tests.harness.worlds.changes import BOOLEANS, UNSET, Change, security, set_each

_HOSTS: Final = ("", "127.0.0.1", "10.1.2.3", "localhost", "example.org", None, UNSET)
_BASELINE_CAPABILITIES: Final = (
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
    "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
)  # fmt: skip
_ADDED_CAPABILITIES: Final[tuple[Any, ...]] = (
    *([name] for name in _BASELINE_CAPABILITIES),
    *(
        [name]
        for name in (
            "NET_RAW", "NET_ADMIN", "SYS_ADMIN", "SYS_PTRACE", "BPF", "ALL", "all",
            "chown", "Net_Bind_Service", "CAP_CHOWN", "CAP_NET_ADMIN", "CAP_NET_BIND_SERVICE",
            "NET_BIND_SERVICE ", "", "*", "NOT_A_CAPABILITY",
        )
    ),
    ["CHOWN", "SYS_ADMIN"],
    ["NET_BIND_SERVICE", "NET_BIND_SERVICE"],
    ["NET_BIND_SERVICE", "KILL"],
    [],
    None,
    UNSET,
)  # fmt: skip
_DROPPED_CAPABILITIES: Final[tuple[Any, ...]] = (
    ["ALL"], ["all"], ["All"], ["CAP_ALL"], ["NET_RAW"], ["NET_RAW", "ALL"], ["ALL "],
    list(_BASELINE_CAPABILITIES), [], None, UNSET,
)  # fmt: skip


def _hosts() -> Iterator[Change]:
    """Yield probes and lifecycle handlers, each with each host."""
    probes = [(name,) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
    handlers = [("lifecycle", name) for name in ("postStart", "preStop")]
    for path in (*probes, *handlers):
        for action in ("httpGet", "tcpSocket"):
            for host in _HOSTS:
                what = {"port": 8080} if host is UNSET else {"port": 8080, "host": host}
                yield Change(".".join((*path, action, "host")), path, {action: what})
        # What has no host at all must change nothing.
        yield Change(".".join((*path, "exec")), path, {"exec": {"command": ["true"]}})
        yield Change(".".join(path), path, None)


def _ports() -> Iterator[Change]:
    for value in (
        [{"containerPort": 80}],
        [{"containerPort": 80, "hostPort": 0}],
        [{"containerPort": 80, "hostPort": None}],
        [{"containerPort": 80, "hostPort": 80}],
        [{"containerPort": 80}, {"containerPort": 81, "hostPort": 81, "protocol": "UDP"}],
        [],
        None,
    ):
        yield Change("ports[*].hostPort", ("ports",), value)


def _of_container() -> Iterator[Change]:
    prefix = "securityContext."
    yield from set_each(f"{prefix}allowPrivilegeEscalation", BOOLEANS)
    yield from set_each(f"{prefix}privileged", BOOLEANS)
    # The API allows it only without `allowPrivilegeEscalation: false`.
    privileged = {"privileged": True, "allowPrivilegeEscalation": True}
    yield Change(f"{prefix}privileged", ("securityContext",), privileged)
    yield from set_each(f"{prefix}capabilities.add", _ADDED_CAPABILITIES)
    yield from set_each(f"{prefix}capabilities.drop", _DROPPED_CAPABILITIES)
    yield from set_each(f"{prefix}capabilities", ({}, None, UNSET))
    yield from set_each(f"{prefix}procMount", ("Default", "Unmasked", "", "default", None, UNSET))
    yield from security(prefix)
    yield from set_each("securityContext", ({}, None, UNSET))
    yield from _ports()


CONTAINER_CHANGES: Final = tuple(_of_container())
HANDLER_CHANGES: Final = tuple(_hosts())
"""Probes and lifecycle handlers, which only containers that keep running may have."""
