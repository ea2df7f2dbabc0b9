"""What befalls the installation: how each fault is made, and how it is ended."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from tests.api.chaos.cluster import GATES, Cluster
from tests.api.chaos.parts import request, wait_until
from tests.harness.programs.helm import NAMESPACE

_SECRET: Final = f"/api/v1/namespaces/{NAMESPACE}/secrets/sallyport-gate-tls"
_HOUR_S: Final = 3600


@dataclass(frozen=True)
class Fault:
    """A fault; entering `of` makes it, leaving ends it, however long it is let be."""

    name: str
    of: Callable[[Cluster], AbstractContextManager[None]]
    seconds: float = 0.0
    """How long it lasts before it is ended; what recovers by itself is not ended."""
    loses: bool = False
    """Whether a gate is killed: what it answered right before need not be in the ledger."""
    gate: int | None = None
    """Whose reviews it befalls: before it, all connections are with this one, the worst case."""
    unseen: bool = False
    """Whether nobody may see anything of it: nothing goes wrong, not even once."""


@contextmanager
def _killed(cluster: Cluster, *numbers: int) -> Iterator[None]:
    for number in numbers:
        cluster.gates.kill(number)
    yield


@contextmanager
def _frozen(cluster: Cluster) -> Iterator[None]:
    cluster.gates.freeze(1)
    try:
        yield
    finally:
        cluster.gates.thaw(1)


@contextmanager
def _cut_off(cluster: Cluster) -> Iterator[None]:
    cluster.gates.cut_off(1)
    try:
        yield
    finally:
        cluster.gates.mend(1)


@contextmanager
def _cut(cluster: Cluster) -> Iterator[None]:
    cluster.gates.cut(1)
    try:
        yield
    finally:
        cluster.gates.mend(1)


@contextmanager
def _without_leader(cluster: Cluster) -> Iterator[None]:
    cluster.kill(cluster.leader())
    yield


@contextmanager
def _without_control(cluster: Cluster) -> Iterator[None]:
    controls = cluster.controls()
    cluster.kubelet.held |= {control.name for control in controls}
    for control in controls:
        cluster.kill(control)
    try:
        yield
    finally:
        cluster.kubelet.held -= {control.name for control in controls}


@contextmanager
def _without_auditor(cluster: Cluster) -> Iterator[None]:
    cluster.kubelet.held.add("auditor")
    cluster.kill(cluster.part("auditor"))
    try:
        yield
    finally:
        cluster.kubelet.held.discard("auditor")


@contextmanager
def _etcd(cluster: Cluster) -> Iterator[None]:
    cluster.server.kill_etcd()
    try:
        yield
    finally:
        cluster.server.start_etcd()


@contextmanager
def _kube_apiserver(cluster: Cluster) -> Iterator[None]:
    cluster.server.kill_kube_apiserver()
    try:
        yield
    finally:
        cluster.server.start_kube_apiserver()


@contextmanager
def _no_secret(cluster: Cluster) -> Iterator[None]:
    assert request(cluster.server, "DELETE", _SECRET)[0] == 200
    yield
    made = lambda: bool(cluster.kubelet.secret("sallyport-gate-tls"))  # noqa: E731
    wait_until(made, 60, "the Secret is made anew")


@contextmanager
def _half_a_secret(cluster: Cluster) -> Iterator[None]:
    half = {"data": {"tls.key": ""}}
    assert request(cluster.server, "PATCH", _SECRET, half)[0] == 200
    yield
    whole = lambda: bool(cluster.kubelet.secret("sallyport-gate-tls").get("tls.key"))  # noqa: E731
    wait_until(whole, 60, "the Secret is whole again")


@contextmanager
def _clock(cluster: Cluster, hours: int) -> Iterator[None]:
    cluster.gate_clock.shift(hours * _HOUR_S)
    try:
        yield
    finally:
        cluster.gate_clock.shift(0)


@contextmanager
def _leaders_clock(cluster: Cluster, hours: int) -> Iterator[None]:
    cluster.control_clock.shift(hours * _HOUR_S)
    try:
        yield
    finally:
        cluster.control_clock.shift(0)


@contextmanager
def _full_disk(cluster: Cluster) -> Iterator[None]:
    assert cluster.disk is not None
    filler = cluster.disk / "filler"
    with filler.open("wb") as file, suppress(OSError):
        while True:
            file.write(bytes(65536))
            file.flush()
    try:
        yield
    finally:
        filler.unlink()


FAULTS: Final = (
    Fault("one gate of three killed", lambda c: _killed(c, 0), loses=True, gate=0),
    Fault("two gates of three killed", lambda c: _killed(c, 0, 1), loses=True),
    Fault("all gates killed", lambda c: _killed(c, *range(GATES)), loses=True),
    Fault("one gate hangs (SIGSTOP)", _frozen, 30, gate=1),
    Fault("one gate cut off from kube-apiserver", _cut_off, 75, gate=1),
    Fault("kube-apiserver cannot reach one gate", _cut, 30, gate=1),
    Fault("the leading control killed", _without_leader, unseen=True),
    Fault("no control runs", _without_control, 30, unseen=True),
    Fault("no auditor runs", _without_auditor, 30, unseen=True),
    Fault("etcd killed", _etcd, 5),
    Fault("kube-apiserver killed", _kube_apiserver, 3),
    Fault("the gates' TLS Secret deleted", _no_secret, unseen=True),
    Fault("the gates' TLS Secret without its key", _half_a_secret, unseen=True),
    Fault("one gate's clock 2 hours ahead", lambda c: _clock(c, 2), 20, gate=0),
    Fault("one gate's clock 2 hours behind", lambda c: _clock(c, -2), 20, gate=0),
    Fault("one gate's clock 4 months ahead", lambda c: _clock(c, 2880), 20, gate=0),
    Fault("control's clock 2 hours ahead", lambda c: _leaders_clock(c, 2), 40),
    Fault("control's clock 2 hours behind", lambda c: _leaders_clock(c, -2), 40),
    Fault("one gate's disk full", _full_disk, 20, gate=0),
)
QUICK: Final = frozenset({"one gate of three killed"})
"""Those of CI."""
