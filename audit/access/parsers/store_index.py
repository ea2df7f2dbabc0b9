"""Finds the WeightStore that a place in storage belongs to. Pure."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from core.weights.stores import WeightStore

_ODD: Final = re.compile(r"^[/.]|//|/\.|\\")
"""Where a path may mean another one than it says."""


class WeightStores:
    """WeightStores by account and container; ten thousand questions a second are cheap.

    Where two hold a place, the longer prefix counts, then the name. A path is asked for as it is
    written and as storage with a hierarchical namespace may understand it (`a//b`, `a/./b`).
    """

    def __init__(self, stores: Iterable[WeightStore]) -> None:
        """Take the stores as they are now; of other times, others are made."""
        held: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        accounts: dict[str, str] = {}
        by_name = {store.name: store for store in sorted(stores, key=lambda one: one.name)}
        for store in by_name.values():
            accounts.setdefault(store.spec.account, store.name)
            for container in store.spec.containers:
                for prefix in container.prefixes or ("",):
                    held[store.spec.account, container.name].append((prefix, store.name))
        self.by_name = by_name
        self._accounts = accounts
        self._held = {
            place: sorted(prefixes, key=lambda one: (-len(one[0]), one[1]))
            for place, prefixes in held.items()
        }

    def __contains__(self, account: str) -> bool:
        """Return whether an account has weights."""
        return account in self._accounts

    def named_in(self, text: str) -> str:
        """Name a store whose account a text in lower case names; for texts of any form."""
        return next((name for account, name in self._accounts.items() if account in text), "")

    def find(self, account: str, container: str = "", blob: str = "") -> str:
        """Name the store of a place: of a blob, a container, or all of the account."""
        if account not in self._accounts:
            return ""
        if not container:
            return self._accounts[account]
        prefixes = self._held.get((account, container))
        if not prefixes:
            return ""
        if not blob:
            return prefixes[-1][1]
        found = _first(prefixes, blob)
        if not found and _ODD.search(blob):
            found = _first(prefixes, posixpath.normpath(blob.replace("\\", "/")).lstrip("/"))
        return found

    def find_below(self, account: str, container: str, folder: str) -> str:
        """Name the store of which anything lies in a folder; for what is done to all of it."""
        found = self.find(account, container, folder)
        if found or not folder:
            return found
        below = posixpath.normpath(folder.replace("\\", "/")).strip("/") + "/"
        prefixes = self._held.get((account, container), ())
        return next((name for prefix, name in prefixes if prefix.startswith(below)), "")


def _first(prefixes: Iterable[tuple[str, str]], blob: str) -> str:
    return next((name for prefix, name in prefixes if blob.startswith(prefix)), "")
