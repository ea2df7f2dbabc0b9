"""Who can open the stores fits into its ConfigMap, and is read back."""

from typing import Any

import pytest

from core.base.errors import InvalidObjectError
from core.weights.documents.store_access import (
    FORMAT,
    Ability,
    AccessDifference,
    DifferenceKind,
    Holder,
    StoreAccess,
)
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.weights.store_access import MOST_BYTES, NAME, body_of, read_accesses


class Stored(Objects):
    """A cluster with one ConfigMap, or none."""

    def __init__(self, body: dict[str, Any] | None) -> None:
        super().__init__(Connection(None))
        self.body = body

    async def get(self, path: str) -> dict[str, Any] | None:
        """Return it."""
        assert path.endswith(f"/namespaces/sallyport-system/configmaps/{NAME}")
        return self.body


def access(name: str, holders: int) -> StoreAccess:
    """Return what is known of a store."""
    return StoreAccess(
        format=FORMAT,
        store=name,
        resource=f"/subscriptions/s/{name}",
        at="2026-11-22T10:00:00Z",
        holders=[
            Holder(
                principal=f"{number:036}",
                kind="User",
                abilities=[Ability.READ],
                role="Storage Blob Data Reader",
                assignment=f"/a/{number}",
                scope="/subscriptions/s",
            )
            for number in range(holders)
        ],
        differing=[
            AccessDifference(
                difference=DifferenceKind.SHARED_KEY, detail="it takes keys", remedy="Stop it."
            )
        ],
    )


async def test_what_is_written_is_read_back() -> None:
    """Store by store, by name."""
    both = {"b": access("b", 2), "a": access("a", 1)}
    found = await read_accesses(Stored(body_of("sallyport-system", both)), "sallyport-system")
    assert found == [both["a"], both["b"]]


async def test_what_was_never_read_is_none() -> None:
    """Not an empty list, which would say that nobody can open anything."""
    assert await read_accesses(Stored(None), "sallyport-system") is None


async def test_what_does_not_fit_is_said() -> None:
    """10,000 assignments on two stores: the ConfigMap stays below its limit."""
    body = body_of("sallyport-system", {name: access(name, 10_000) for name in "ab"})
    assert sum(map(len, body["data"].values())) <= MOST_BYTES
    found = await read_accesses(Stored(body), "sallyport-system")
    assert found is not None
    assert all("more lines are not shown" in one.gaps[0] for one in found)
    assert all(one.holders for one in found)


async def test_what_cannot_be_read_names_the_field() -> None:
    """A release too new, or somebody else's hand."""
    body = {"data": {"a": '{"format": 99, "store": "a", "resource": "", "at": ""}'}}
    with pytest.raises(InvalidObjectError, match=r"data\[a\]"):
        await read_accesses(Stored(body), "sallyport-system")
