"""The shares that admissions have of a spool: nobody fills it alone while the auditor is away.

A request that the gate admits may still be refused by kube-apiserver (the name is taken, the quota
used up): it costs its author nothing, and has a record each time. The first half of the spool is
for whoever comes. In the rest a *share*, a namespace and in it a requester, holds at most as much
as is still free there, less what its namespace holds: a requester at most a third of the rest, a
namespace with all its requesters half of it, the next namespace half of what then remains. Dynamic
thresholds of switches' shared memory (Choudhury and Hahne, 1998) are the same rule: what is left is
the bound, so somebody new always finds room, and nobody needs a quota of his own.

What a share holds is forgotten as the spool frees it, and all of it once less than half is held.
After a restart nothing is known of what the process before left in the spool: those bytes count as
held by nobody, and bounds follow what is still free.

Memory is bounded: MOST_SHARES in each of a few stretches of the spool.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol

from audit.ledger.records.refusal_budget import ADMISSIONS_ONLY, OTHERS, Share
from core.base.errors import OverShareError

MOST_SHARES: Final = 512
"""Shares told apart; those that come later are the share of unknown names."""

MOST_OF_A_NAMESPACE: Final = 32
"""Requesters told apart in a namespace, or one with many accounts would use up MOST_SHARES. Those
that come later are one share of their namespace."""

STRETCHES: Final = 16
"""Parts of a full spool: a share is forgotten once a whole one is free."""

_OVER_SHARE: Final = (
    "the spool is more than half full, and the admissions of this requester in this namespace have "
    "their share of the rest: the auditor has not taken them"
)


class SpoolLevel(Protocol):
    """How full a spool is, in bytes; at once, from memory."""

    @property
    def max_bytes(self) -> int:
        """The most that it holds."""

    @property
    def held_bytes(self) -> int:
        """What it holds, from the oldest byte that is not freed to the last one taken."""

    @property
    def freed_bytes(self) -> int:
        """What it held before, since it was opened; frees the oldest first."""


@dataclass
class _Stretch:
    """What shares took while so much of the spool was written."""

    start: int
    end: int
    """Both as bytes taken by the spool since it was opened."""
    held: dict[Share, int] = field(default_factory=dict)


class AdmissionShares:
    """Says which admissions the rest of a spool has room for. Used on one thread."""

    def __init__(self, spool: SpoolLevel) -> None:
        self.refused = 0
        """Admissions that were beyond their share, since the beginning."""
        self._spool = spool
        self._held: dict[str, dict[str, int]] = {}
        """Bytes by namespace and requester; none is 0."""
        self._stretches: deque[_Stretch] = deque()

    def limit(self) -> bool:
        """Return whether shares are bounded now; while they are not, none holds anything."""
        spool = self._spool
        if spool.held_bytes >= spool.max_bytes * ADMISSIONS_ONLY:
            return True
        if self._stretches:
            self._stretches.clear()
            self._held.clear()
        return False

    @contextmanager
    def hold(self, share: Share, size: int) -> Iterator[None]:
        """Have a share hold `size` bytes, which are appended to the spool within the `with` block.

        Raises:
            OverShareError: they are beyond its share.
        """
        self._forget()
        share = self._told_apart(share)
        if self._holdings(share) + 2 * size > self._free - size:
            self.refused += 1
            raise OverShareError(_OVER_SHARE)
        yield
        self._note(share, size)

    @property
    def _free(self) -> int:
        return self._spool.max_bytes - self._spool.held_bytes

    def _holdings(self, share: Share) -> int:
        """Return what a share holds, and its namespace, together."""
        namespace = self._held.get(share.namespace, {})
        return namespace.get(share.requester, 0) + sum(namespace.values())

    def _told_apart(self, share: Share) -> Share:
        """Return the share that one counts as."""
        namespace = self._held.get(share.namespace, {})
        if share.requester in namespace:
            return share
        if len(namespace) >= MOST_OF_A_NAMESPACE:
            share = Share(share.namespace, "")
        is_known = share.requester in namespace
        return share if is_known or sum(map(len, self._held.values())) < MOST_SHARES else OTHERS

    def _note(self, share: Share, size: int) -> None:
        spool = self._spool
        end = spool.held_bytes + spool.freed_bytes  # What is freed in between counts twice: late.
        most = spool.max_bytes // STRETCHES
        if not self._stretches or end - self._stretches[-1].start >= most:
            self._stretches.append(_Stretch(end, end))
        stretch = self._stretches[-1]
        stretch.end = max(stretch.end, end)
        stretch.held[share] = stretch.held.get(share, 0) + size
        namespace = self._held.setdefault(share.namespace, {})
        namespace[share.requester] = namespace.get(share.requester, 0) + size

    def _forget(self) -> None:
        """Forget what the spool has freed."""
        freed = self._spool.freed_bytes
        while self._stretches and self._stretches[0].end <= freed:
            for share, size in self._stretches.popleft().held.items():
                namespace = self._held[share.namespace]
                namespace[share.requester] -= size
                if not namespace[share.requester]:
                    del namespace[share.requester]
                if not namespace:
                    del self._held[share.namespace]
