"""What runs in a cluster now: how much, and what of it needs more than everyone gets. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from cli.preflight.cluster.model import PreflightNotes
from core.base.safe_text import join_some

_MIRROR: Final = "kubernetes.io/config.mirror"
TUNNEL_NAMESPACE: Final = "kube-system"
TUNNEL_LABEL: Final = ("app", "konnectivity-agent")
"""Of the Pods through which kube-apiserver of AKS calls webhooks."""

_SHOWN: Final = 8
_ACCOUNTS: Final = 4


class _Meta(msgspec.Struct):
    namespace: str = ""
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None


class _Capabilities(msgspec.Struct):
    add: list[str] | None = None


class _Context(msgspec.Struct):
    privileged: bool | None = None
    capabilities: _Capabilities | None = None


class _Port(msgspec.Struct, rename="camel"):
    host_port: int | None = None


class _Container(msgspec.Struct, rename="camel"):
    security_context: _Context | None = None
    ports: list[_Port] | None = None

    @property
    def wants_more(self) -> bool:
        """Whether it is privileged, adds capabilities or takes a port of the node."""
        context = self.security_context or _Context()
        added = context.capabilities.add if context.capabilities else None
        takes_port = any(each.host_port for each in self.ports or ())
        return bool(context.privileged or added or takes_port)


class _Volume(msgspec.Struct, rename="camel"):
    host_path: msgspec.Raw | None = None


class _Spec(msgspec.Struct, rename="camel"):
    service_account_name: str = ""
    host_network: bool = False
    host_pid: bool = msgspec.field(default=False, name="hostPID")
    host_ipc: bool = msgspec.field(default=False, name="hostIPC")
    volumes: list[_Volume] | None = None
    containers: list[_Container] = []
    init_containers: list[_Container] | None = None


class RunningPod(msgspec.Struct):
    """What is read of a Pod."""

    metadata: _Meta
    spec: _Spec

    @property
    def is_agent(self) -> bool:
        """Whether kube-apiserver of AKS calls webhooks through it."""
        meta, (key, value) = self.metadata, TUNNEL_LABEL
        return meta.namespace == TUNNEL_NAMESPACE and (meta.labels or {}).get(key) == value

    @property
    def is_mirror(self) -> bool:
        """Whether its node runs it from a file: nobody created it."""
        return _MIRROR in (self.metadata.annotations or {})

    @property
    def wants_more(self) -> bool:
        """Whether Pod Security's level baseline would refuse it, by what is commonest."""
        spec = self.spec
        return (
            spec.host_network
            or spec.host_pid
            or spec.host_ipc
            or any(each.host_path is not None for each in spec.volumes or ())
            or any(each.wants_more for each in (*spec.containers, *(spec.init_containers or ())))
        )


_POD: Final = msgspec.json.Decoder(RunningPod)


@dataclass
class TunnelAgents:
    """Pods through which kube-apiserver of AKS calls webhooks."""

    with_own_address: int = 0
    with_address_of_node: int = 0


@dataclass
class PodCounts:
    """Pods by namespace."""

    all: Counter[str] = field(default_factory=Counter)
    wanting: Counter[str] = field(default_factory=Counter)
    """Those that want more than baseline."""
    accounts: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Service accounts of those, by namespace."""
    on_nodes: dict[str, list[Mapping[str, str]]] = field(default_factory=lambda: defaultdict(list))
    """Labels of Pods on their node's network, by namespace."""
    agents: TunnelAgents = field(default_factory=TunnelAgents)

    def take(self, raw: msgspec.Raw) -> None:
        """Count a Pod."""
        pod = _POD.decode(raw)
        if pod.is_mirror:
            return
        namespace = pod.metadata.namespace
        self.all[namespace] += 1
        if pod.spec.host_network:
            self.on_nodes[namespace].append(pod.metadata.labels or {})
        if pod.is_agent:
            self.agents.with_address_of_node += pod.spec.host_network
            self.agents.with_own_address += not pod.spec.host_network
        if pod.wants_more:
            self.wanting[namespace] += 1
            self.accounts[namespace].add(pod.spec.service_account_name or "default")


def judge_pods(counts: PodCounts, left_out: Iterable[str], notes: PreflightNotes) -> None:
    """Say where Pods run that everyone's profile does not cover."""
    excluded = set(left_out)
    found = [each for each in counts.wanting.most_common() if each[0] not in excluded]
    if not found:
        return
    lines = [
        f"{namespace} ({count} of {counts.all[namespace]}, as "
        f"{join_some(sorted(counts.accounts[namespace]), _ACCOUNTS)})"
        for namespace, count in found
    ]
    notes.find(
        "lockout",
        "warning",
        f"Pods run with privileges of the node in {join_some(lines, _SHOWN)}: once these "
        "namespaces enforce, they are refused when they are made anew",
        "begin with defaultMode=audit, give these accounts a profile (sallyport profile suggest), "
        "and enforce when sallyport rollout status names nobody",
        "rollout.md",
    )
