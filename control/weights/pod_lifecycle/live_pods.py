"""The Pods that live, held compactly enough for 225,000 of them. No I/O.

What many Pods share is held once: the service account with its owner and client ids, the node with
its addresses. Measured in docs/evidence/pod-lives.md.
"""

from collections.abc import Iterator
from typing import Final, TypeVar

import msgspec

_FIRST_SWEEP: Final = 4096
"""Shared values after which those that nobody has any more are looked for; then at each double."""


class PodWorkload(msgspec.Struct, frozen=True, gc=False):
    """What the Pods of one workload have in common."""

    namespace: str
    service_account: str
    owner: str = ""
    client_ids: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()


class PodNode(msgspec.Struct, frozen=True, gc=False):
    """What the Pods of one node have in common."""

    node: str = ""
    addresses: tuple[str, ...] = ()
    host_network: bool = False


class TrackedPod(msgspec.Struct, frozen=True, gc=False):
    """What is remembered of one Pod."""

    name: str
    place: PodWorkload
    host: PodNode
    addresses: str = ""
    """All that it has had, with commas between."""
    began: float = 0.0
    """Unix seconds."""

    @property
    def is_addressed(self) -> bool:
        """Whether it has been told where it is."""
        return bool(self.host.node and self.addresses)


ENDED_POD: Final = TrackedPod("", PodWorkload("", ""), PodNode())
"""In place of a Pod whose end was recorded and that is still there."""

_S = TypeVar("_S", PodWorkload, PodNode)


class LivePods:
    """Pods by UID."""

    def __init__(self) -> None:
        self._pods: dict[int, TrackedPod] = {}
        self._shared: dict[PodWorkload | PodNode, PodWorkload | PodNode] = {}
        self._sweep_at = _FIRST_SWEEP

    def __len__(self) -> int:
        return len(self._pods)

    @property
    def shared(self) -> int:
        """How many values are held that Pods share, or shared lately."""
        return len(self._shared)

    def get(self, uid: str) -> TrackedPod | None:
        """Return what is remembered of a Pod; OVER once its end was recorded."""
        return self._pods.get(key_of(uid))

    def put(self, uid: str, kept: TrackedPod) -> None:
        """Remember a Pod."""
        self._pods[key_of(uid)] = kept
        if len(self._shared) > self._sweep_at:
            self._sweep()

    def drop(self, uid: str) -> None:
        """Forget a Pod that is gone."""
        self._pods.pop(key_of(uid), None)

    def uids(self) -> set[int]:
        """Return the keys (`key_of`) of all."""
        return set(self._pods)

    def items(self) -> Iterator[tuple[str, TrackedPod]]:
        """Yield all that have not ended; put nothing meanwhile."""
        for key, kept in self._pods.items():
            if kept is not ENDED_POD:
                yield uid_of(key), kept

    def take(self, key: int) -> TrackedPod | None:
        """Forget a Pod by its key, and give what was remembered of it."""
        return self._pods.pop(key, None)

    def share(self, value: _S) -> _S:
        """Return the one of equal values that is held."""
        found = self._shared.setdefault(value, value)
        assert isinstance(found, type(value))  # noqa: S101 -- equal values have one type
        return found

    def _sweep(self) -> None:
        used: set[PodWorkload | PodNode] = set()
        for kept in self._pods.values():
            used.add(kept.place)
            used.add(kept.host)
        self._shared = {each: each for each in self._shared if each in used}
        self._sweep_at = max(_FIRST_SWEEP, 2 * len(self._shared))


def key_of(uid: str) -> int:
    """Return a UID as a number: 48 bytes in place of 85.

    Raises:
        ValueError: it is no UUID, as kube-apiserver gives each Pod.
    """
    return int(uid.replace("-", ""), 16)


def uid_of(key: int) -> str:
    """Return the UID of its number."""
    text = f"{key:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
