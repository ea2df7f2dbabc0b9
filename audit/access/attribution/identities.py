"""Which service accounts sign in as which identity at Entra ID, and since when."""

from bisect import bisect_right, insort
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from core.weights.documents.object_change import ObjectChange

KINDS: Final = frozenset({"ServiceAccount", "FederatedCredential"})
"""Of an ObjectChange: an annotation of the cluster's, a federated credential of Entra's."""

MOST_CHANGES: Final = 128
"""Of one object that says as whom a service account signs in; of the oldest two one is left."""

_SUBJECT: Final = "system:serviceaccount:"


class IdentityClaim(msgspec.Struct, frozen=True, gc=False):
    """As whom an access was made, and who could sign in so."""

    who: str
    """For a person: `client:…` or `oid:…`."""
    client: str
    accounts: tuple[str, ...]
    """Service accounts, `namespace/name`, in order."""
    unix_s: float
    delegated: bool = False
    of_nodes: bool = False
    """Whether it is the identity of kubelets, as which CSI drivers mount for all of a node."""


class _Declaration(msgspec.Struct, frozen=True, order=True, array_like=True):
    """What an object said from a time on."""

    at: float
    id: str
    client: str
    """Empty: nobody any more."""
    seen: bool = False
    """Whether it was seen for the first time: it was so before, nobody knows since when."""


class Identities:
    """Client ids and object ids, and the service accounts that could sign in as them when.

    Changes may come in any order, and again.
    """

    def __init__(self) -> None:
        self._said: dict[tuple[str, str], list[_Declaration]] = {}
        """By service account and the object that says it, in the order of their times."""
        self._naming: dict[str, set[tuple[str, str]]] = {}
        """By client id: the keys of `_said` that ever named it."""
        self._named: dict[str, set[str]] = {}
        """By service account: the objects that name somebody to sign in as now."""
        self._clients: dict[str, str] = {}
        """Client ids by object id, as WeightStores give them."""

    def take(self, change: ObjectChange, at: float) -> str:
        """Take in a change of a service account or of a federated credential; say whose it is."""
        account = _account_of(change)
        if not account:
            return ""
        key = (account, f"{change.kind}/{change.namespace}/{change.name}")
        client = "" if change.event in {"deleted", "ended"} else _text(change.spec, "clientId")
        self._note(key, _Declaration(at, change.id, client, change.event == "there"))
        return account

    def pair(self, object_id: str, client: str) -> None:
        """Note that an object id is that of a client id."""
        self._clients[object_id] = client

    def client_of(self, object_id: str) -> str:
        """Return the client id of an object id; empty where nobody said."""
        return self._clients.get(object_id, "")

    def signing_in(self, client: str, begin_s: float, end_s: float) -> Iterator[str]:
        """Yield the service accounts that could sign in as a client id at a time in between."""
        for key in self._naming.get(client, ()):
            if _names(self._said[key], client, begin_s, end_s):
                yield key[0]

    def could(self, account: str, client: str, begin_s: float, end_s: float) -> bool:
        """Return whether a service account could sign in as a client id at a time in between."""
        return account in self.signing_in(client, begin_s, end_s)

    def names_anybody(self, account: str) -> bool:
        """Return whether a service account names anybody to sign in as."""
        return account in self._named

    def saved(self) -> list[Any]:
        """Return all of it as plain values."""
        return [[[*key, said] for key, said in self._said.items()], self._clients]

    def restore(self, saved: list[Any]) -> None:
        """Take back what `saved` gave."""
        for account, by, said in saved[0]:
            for each in msgspec.convert(said, list[_Declaration]):
                self._note((account, by), each)
        self._clients = dict(saved[1])

    def _note(self, key: tuple[str, str], new: _Declaration) -> None:
        said = self._said.setdefault(key, [])
        if new in said:
            return
        insort(said, new)
        if new.client:
            self._naming.setdefault(new.client, set()).add(key)
        if len(said) > MOST_CHANGES:
            del said[1]
        account, by = key
        named = self._named.setdefault(account, set())
        named.discard(by)
        if said[-1].client:
            named.add(by)
        if not named:
            del self._named[account]


def _names(said: list[_Declaration], client: str, begin_s: float, end_s: float) -> bool:
    """Return whether a client id was named at a time in between; the last before counts first.

    What named it and ended at that very time still counts.
    """
    last = bisect_right(said, end_s, key=lambda each: each.at)
    for place in range(last - 1, -1, -1):
        if said[place].client == client:
            return True
        if said[place].at < begin_s:
            return False
    return said[0].seen and said[0].client == client


def _account_of(change: ObjectChange) -> str:
    """Return the service account that a change is about: `namespace/name`; empty for none."""
    if change.kind == "ServiceAccount":
        return f"{change.namespace}/{change.name}"
    subject = _text(change.spec, "subject")
    if subject.startswith(_SUBJECT):
        return subject.removeprefix(_SUBJECT).replace(":", "/", 1)
    return ""


def _text(spec: Any, field_name: str) -> str:
    value = spec.get(field_name) if isinstance(spec, dict) else None
    return value.lower() if isinstance(value, str) else ""
