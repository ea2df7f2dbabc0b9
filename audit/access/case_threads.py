"""Along what findings are joined into cases. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from core.weights.events import Finding

MOST_SHARED: Final = 5
"""A Pod, human or address that findings about more principals share is no rare thread: a fleet, a
NAT gateway, a platform team. It joins nothing."""

_READS: Final = frozenset({"new-caller", "ungranted", "no-live-pod", "volume-above-baseline"})
_BY_KEY: Final = frozenset({"key-or-anonymous-read"})

LEADS_TO: Final[Mapping[str, frozenset[str]]] = {
    "keys-and-logging": _BY_KEY | {"log-gap", "delegation-key"},
    "role-assignment": _READS | {"delegation-key", "copy-out"},
    "delegation-key": _READS,
    "private-endpoint": _READS | _BY_KEY,
    "sftp-or-local-users": _READS | _BY_KEY,
    "object-replication": frozenset({"copy-out"}),
    "protection-off": frozenset({"create-read-delete"}),
}
"""What is done to a whole account, and what may come of it there, by whomever."""


class Thread(NamedTuple):
    """Something that a finding may share with others."""

    key: tuple[str, str]
    why: str
    binds: bool = True
    """Whether later findings are joined to this one along it."""


def joining_threads(
    ordered: Sequence[Finding], networks: frozenset[str]
) -> Sequence[Sequence[Thread]]:
    """Give the threads of each finding, without those that too many share."""
    rows = [list(_threads(one, networks)) for one in ordered]
    holders: dict[tuple[str, str], set[str]] = {}
    for one, row in zip(ordered, rows, strict=True):
        for thread in row:
            if thread.key[0] in _RARE and one.who:
                holders.setdefault(thread.key, set()).add(one.who)
    shared = Counter({key: len(who) for key, who in holders.items()})
    return [
        [
            thread
            for thread in row
            if shared[thread.key] <= MOST_SHARED or thread.key[0] not in _RARE
        ]
        for row in rows
    ]


_RARE: Final = frozenset({"pod", "human", "address"})


def _threads(one: Finding, networks: frozenset[str]) -> Iterator[Thread]:
    if one.who:
        yield Thread(("who", f"{one.who} {one.store}"), f"{one.who} at {one.store or 'no store'}")
        # Whoever is found as a principal may be another finding's human.
        yield Thread(("human", one.who), f"{one.who} is behind both")
    for name in one.requesters:
        if name != one.who:
            yield Thread(("human", name), f"{name} is behind both")
    for name in one.pods:
        yield Thread(("pod", name), f"the Pod {name}")
    for address in one.addresses:
        if address not in networks:
            yield Thread(("address", address), f"the address {address}")
    yield from _of_account(one)


def _of_account(one: Finding) -> Iterator[Thread]:
    """Give the threads by which what was done to an account goes with what comes of it."""
    if not one.account:
        return
    done = f"what was done to the account {one.account}"
    if one.detection in LEADS_TO:
        yield Thread(("account", one.account), done)
    for follower in sorted(LEADS_TO.get(one.detection, ())):
        yield Thread(("leads-to", f"{one.account} {follower}"), done)
    yield Thread(("leads-to", f"{one.account} {one.detection}"), done, binds=False)
    if one.detection in _BY_KEY:
        yield Thread(("unsigned", one.account), f"reads without a principal of {one.account}")
