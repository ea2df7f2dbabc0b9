"""The Pods of a time: by identity, by address, by what they mount. Bounded, and it says so."""

import heapq
import math
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from audit.access.attribution.lives import Life, merge_lives
from audit.access.model.defaults import MOST_PODS

K = TypeVar("K", str, tuple[str, str])


class Pods:
    """Lives of Pods that can have reached weights: those that sign in as someone, or mount blobs.

    Those whose end is long past are forgotten by `forget`; beyond `most` those that ended first
    are forgotten earlier, and `lost` says from what time on that makes an answer uncertain.
    """

    def __init__(self, most: int = MOST_PODS) -> None:
        self._most = most
        self._by_uid: dict[str, Life] = {}
        self._at: dict[tuple[str, str], dict[str, Life]] = {}
        """By service account and address, its own or its node's."""
        self._of: dict[str, dict[str, Life]] = {}
        """By service account."""
        self._mounting: dict[str, dict[str, Life]] = {}
        """By the node's address: those that mount blobs."""
        self._claims: dict[str, dict[str, int]] = {}
        """How many lives of which service accounts name a client id, by the client id."""
        self._nodes: dict[str, int] = {}
        """How many lives have a node's address."""
        self._ends: list[tuple[float, str]] = []
        self.lost = -math.inf
        """Unix seconds: Pods that ended before may be missing, for there were too many."""

    def __len__(self) -> int:
        """Count them."""
        return len(self._by_uid)

    def __iter__(self) -> Iterator[Life]:
        """Return each life."""
        return iter(self._by_uid.values())

    def get(self, uid: str) -> Life | None:
        """Return a Pod's life."""
        return self._by_uid.get(uid)

    def add(self, new: Life) -> list[str]:
        """Take in what became known of a Pod; give the UIDs of those that had to make room."""
        known = self._by_uid.get(new.uid)
        life = merge_lives(known, new)
        if life == known:
            return []
        if known is not None:
            self._unlink(known)
        self._link(life)
        if life.ended != math.inf and (known is None or known.ended != life.ended):
            heapq.heappush(self._ends, (life.ended, life.uid))
        gone: list[str] = []
        while len(self._by_uid) > self._most:
            gone += self._lose()
        return gone

    def forget(self, before_s: float) -> list[str]:
        """Forget those that ended before a time; give their UIDs."""
        gone: list[str] = []
        while self._ends and self._ends[0][0] < before_s:
            gone += self._drop(*heapq.heappop(self._ends))
        return gone

    def at(self, service_account: str, address: str) -> Iterable[Life]:
        """Return those of a service account that had an address, as their own or their node's."""
        return self._at.get((service_account, address), _NONE).values()

    def of(self, service_account: str) -> Iterable[Life]:
        """Return those of a service account."""
        return self._of.get(service_account, _NONE).values()

    def mounting(self, node_address: str, place: str) -> list[Life]:
        """Return those of a node that mount a container; `place` is `account/container`."""
        account, _, container = place.partition("/")
        near = self._mounting.get(node_address, _NONE).values()
        return [life for life in near if any(_shows(v, account, container) for v in life.volumes)]

    def claiming(self, client: str) -> Iterable[str]:
        """Return the service accounts of Pods that say they sign in as a client id."""
        return self._claims.get(client, ())

    def is_node(self, address: str) -> bool:
        """Return whether an address is known to be a node's."""
        return address in self._nodes

    def _lose(self) -> list[str]:
        """Make room: the one that ended first goes; without one, the one that came first."""
        if self._ends:
            ended, uid = heapq.heappop(self._ends)
            if gone := self._drop(ended, uid):
                self.lost = max(self.lost, ended)
            return gone
        first = next(iter(self._by_uid.values()))
        self._unlink(first)
        self.lost = math.inf
        return [first.uid]

    def _drop(self, ended: float, uid: str) -> list[str]:
        life = self._by_uid.get(uid)
        if life is None or life.ended != ended:
            return []
        self._unlink(life)
        return [uid]

    def _link(self, life: Life) -> None:
        self._by_uid[life.uid] = life
        for address in {*life.addresses, *life.node_addresses}:
            self._at.setdefault((life.service_account, address), {})[life.uid] = life
        self._of.setdefault(life.service_account, {})[life.uid] = life
        for address in life.node_addresses:
            self._nodes[address] = self._nodes.get(address, 0) + 1
            if life.volumes:
                self._mounting.setdefault(address, {})[life.uid] = life
        for client in life.clients:
            claims = self._claims.setdefault(client, {})
            claims[life.service_account] = claims.get(life.service_account, 0) + 1

    def _unlink(self, life: Life) -> None:
        del self._by_uid[life.uid]
        for address in {*life.addresses, *life.node_addresses}:
            _take(self._at, (life.service_account, address), life.uid)
        _take(self._of, life.service_account, life.uid)
        for address in life.node_addresses:
            _less(self._nodes, address)
            if life.volumes:
                _take(self._mounting, address, life.uid)
        for client in life.clients:
            _less(self._claims[client], life.service_account)
            if not self._claims[client]:
                del self._claims[client]


_NONE: Final[dict[str, Life]] = {}


def _shows(volume: str, account: str, container: str) -> bool:
    """Return whether a volume can show a container; what it hides may be any."""
    its_account, _, its_container = volume.partition("/")
    return its_account in {"", account} and its_container in {"", container}


def _take(index: dict[K, dict[str, Life]], key: K, uid: str) -> None:
    found = index[key]
    del found[uid]
    if not found:
        del index[key]


def _less(counts: dict[str, int], key: str) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
