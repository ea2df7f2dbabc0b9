"""One Pod's life, as far as attribution needs it, and small: hundreds of thousands are held."""

import calendar
import math
import sys
from functools import lru_cache
from typing import Final

import msgspec

from core.base.short_text_cache import cache_short_texts
from core.weights.documents.pod_life import LifeEvent, PodLife

_RANK: Final = {LifeEvent.SEEN: 0, LifeEvent.ADDRESSED: 1, LifeEvent.ENDED: 2}

_SECONDS: Final = 19
"""Characters of `2026-05-01T09:00:00`."""


class Life(msgspec.Struct, frozen=True, kw_only=True, gc=False, array_like=True):
    """A Pod from its beginning to its end. Times are Unix seconds."""

    uid: str
    pod: str
    """`namespace/name`."""
    service_account: str
    """`namespace/name`."""
    node: str = ""
    began: float
    ended: float = math.inf
    """Infinite while it lives."""
    sure: bool = True
    """Whether the end was seen; else it is the last moment at which it can have lived."""
    host_network: bool = False
    addresses: tuple[str, ...] = ()
    """Its own; none where it has its node's."""
    node_addresses: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    """Client ids that its containers and its service account can sign in as."""
    volumes: tuple[str, ...] = ()
    """`account/container` of blobs that it mounts."""
    decision: str = ""
    rank: int = 0
    """Of the event that it was last known by."""
    noted: float = 0.0
    """When that was."""
    made: float = 0.0
    """When kube-apiserver took it in; 0 where its first document is not known."""
    requester: str = ""
    """Noted on it when it was seen first; empty where nothing was."""
    digest: str = ""
    """Of its `spec` as it was created; empty where that is not known, or nobody is noted."""

    def lived(self, unix_s: float, slack_s: float) -> bool:
        """Return whether it can have lived then, if clocks differ by as much."""
        return self.began - slack_s <= unix_s <= self.ended + slack_s


def life_of(document: PodLife) -> Life:
    """Return the life that a document tells of.

    Raises:
        ValueError: a time in it is none.
    """
    own = () if document.host_network else _shared(tuple(document.addresses))
    hosts = document.node_addresses or (document.addresses if document.host_network else [])
    noted = unix_seconds(document.time)
    began = unix_seconds(document.began) if document.began else noted
    is_first = document.event is LifeEvent.SEEN and noted <= began  # Later ones tell it again.
    return Life(
        uid=document.uid,
        pod=f"{document.namespace}/{document.name}",
        service_account=sys.intern(f"{document.namespace}/{document.service_account}"),
        node=sys.intern(document.node),
        began=began,
        ended=_end(document, noted),
        sure=document.sure,
        host_network=document.host_network,
        addresses=own,
        node_addresses=_shared(tuple(hosts)),
        clients=_shared(tuple(each.lower() for each in document.client_ids)),
        volumes=_shared(tuple(each.lower() for each in document.volumes)),
        decision=document.decision,
        rank=_RANK[document.event],
        noted=noted,
        made=noted if is_first else 0.0,
        requester=sys.intern(document.requester),
        digest=document.digest,
    )


def merge_lives(known: Life | None, new: Life) -> Life:
    """Return what is known of a Pod, whichever of its documents came first.

    The last event of a Pod says all; but one that is cut short does not take away what was known.
    """
    if known is None:
        return new
    last, other = (new, known) if _order(new) >= _order(known) else (known, new)
    return msgspec.structs.replace(
        last,
        node=last.node or other.node,
        addresses=last.addresses or other.addresses,
        node_addresses=last.node_addresses or other.node_addresses,
        clients=last.clients or other.clients,
        volumes=last.volumes or other.volumes,
        decision=last.decision or other.decision,
        began=min(last.began, other.began),
        made=last.made or other.made,
        requester=last.requester or other.requester,
        digest=last.digest or other.digest,
    )


def unix_seconds(text: str) -> float:
    """Read an RFC 3339 time in UTC, with or without a fraction, as Unix seconds.

    Raises:
        ValueError: it is none, or of another zone.
    """
    whole, fraction = text[:_SECONDS], text[_SECONDS:]
    if not fraction.endswith("Z"):
        message = f"{text!r} is no time in UTC, such as 2026-05-01T09:00:00.250Z"
        raise ValueError(message)
    return _whole(whole) + (float(f"0{fraction[:-1]}") if len(fraction) > 1 else 0.0)


@lru_cache(maxsize=1024)
def _whole(text: str) -> int:
    """Return a second's Unix time; what happens within one second shares it."""
    parts = (text[:4], text[5:7], text[8:10], text[11:13], text[14:16], text[17:])
    if text[4::3] != "--T::":
        message = f"{text!r} is no time, such as 2026-05-01T09:00:00"
        raise ValueError(message)
    return calendar.timegm((*map(int, parts), 0, 0, 0))


def _end(document: PodLife, noted: float) -> float:
    if document.ended:
        return unix_seconds(document.ended)
    return noted if document.event is LifeEvent.ENDED else math.inf


def _order(life: Life) -> tuple[int, float]:
    return life.rank, life.noted


@cache_short_texts(65_536, longest=1024)
def _shared(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return one and the same tuple for the same words: thousands of Pods of a gang share it."""
    return tuple(map(sys.intern, words))
