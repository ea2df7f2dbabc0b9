"""Reads from Azure who can open the account of a WeightStore, as far as it may."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec

from core.base.errors import EntraError
from core.base.times import time_text
from core.weights.documents.store_access import FORMAT, Holder, StoreAccess
from core.weights.stores import WeightStore
from identity.azure_roles.arm_responses import (
    AUTHORIZATION,
    DIAGNOSTICS,
    STORAGE,
    Account,
    Assignment,
    Definition,
    Denial,
    Diagnostic,
    read_shape,
)
from identity.azure_roles.differences import AccountDetails, GrantHolders, find_differences
from identity.azure_roles.effective_access import AccountRules, holders_of
from identity.clients.resource_manager import ResourceManager

DEFINITION_S: Final = 3600.0
"""So long a role's definition is believed."""

_AUTHORIZATION: Final = "/providers/Microsoft.Authorization"

T = TypeVar("T")
Require = Callable[[], None]

_ENDURING: Final = frozenset({"permission", "absent", "unreadable", "endless", "foreign-link",
                              "too-large", "rejected"})  # fmt: skip
"""Kinds that asking again does not mend: they are told, and the rest is read all the same."""


@dataclass
class AccessReader:
    """Reads one store after another. What cannot be read is a gap, and never nothing."""

    manager: ResourceManager
    clock: Callable[[], float]
    """Unix seconds."""
    _definitions: dict[str, tuple[float, Definition]] = field(default_factory=dict)

    async def read(
        self, store: WeightStore, granted: GrantHolders, require: Require
    ) -> StoreAccess:
        """Return who can open a store now, and how that differs from what is written.

        Raises:
            EntraError: Azure does not answer at all; asked too often, or signed in wrongly.
            NotLeaderError: `require` says so.
        """
        resource = store.spec.resource_id
        assert resource is not None  # noqa: S101  Only such stores are asked for.
        gaps: list[str] = []
        assignments = await self._list(f"{resource}{_AUTHORIZATION}/roleAssignments", Assignment,
                                       require, gaps)  # fmt: skip
        denials = await self._list(f"{resource}{_AUTHORIZATION}/denyAssignments", Denial,
                                   require, gaps)  # fmt: skip
        definitions = await self._read_definitions(assignments or (), require, gaps)
        rules = AccountRules(resource, assignments or (), definitions, denials or ())
        holders = _with_client_ids(holders_of(rules), store)
        around = await self._around(resource, require, gaps)
        return StoreAccess(
            format=FORMAT,
            store=store.name,
            resource=resource.lower(),
            at=time_text(self.clock()),
            holders=holders,
            differing=[
                one
                for one in find_differences(store, holders, granted, around)
                if assignments is not None or not one.principal
            ],
            gaps=gaps,
        )

    async def _around(self, resource: str, require: Require, gaps: list[str]) -> AccountDetails:
        account = None
        try:
            body = await self.manager.get(resource, STORAGE, require)
            account = _typed(body, Account, "storage account")
        except EntraError as error:
            _note(error, gaps)
        blobs = f"{resource}/blobServices/default/providers/Microsoft.Insights/diagnosticSettings"
        return AccountDetails(
            account, await self._list(blobs, Diagnostic, require, gaps, DIAGNOSTICS)
        )

    async def _read_definitions(
        self, assignments: Sequence[Assignment], require: Require, gaps: list[str]
    ) -> Mapping[str, Definition]:
        now = self.clock()
        found: dict[str, Definition] = {}
        for path in sorted({one.properties.role_definition_id for one in assignments}):
            known = self._definitions.get(path.lower())
            if known is None or known[0] < now - DEFINITION_S:
                try:
                    body = await self.manager.get(path, AUTHORIZATION, require)
                    known = (now, _typed(body, Definition, "role definition"))
                except EntraError as error:
                    _note(error, gaps)
                    continue
                self._definitions[path.lower()] = known
            found[path.lower()] = known[1]
        return found

    async def _list(
        self,
        path: str,
        shape: type[T],
        require: Require,
        gaps: list[str],
        version: str = AUTHORIZATION,
    ) -> list[T] | None:
        """Return what a list has; None where it may not be read."""
        try:
            raw = [each async for each in self.manager.each(path, version, require)]
            return [_typed(each, shape, path.rpartition("/")[2]) for each in raw]
        except EntraError as error:
            _note(error, gaps)
            return None


def _note(error: EntraError, gaps: list[str]) -> None:
    """Note what could not be read.

    Raises:
        EntraError: Azure is asked again later, for all of it.
    """
    if error.kind not in _ENDURING:
        raise error
    text = str(error)
    if text not in gaps:
        gaps.append(text)


def _typed(content: bytes | msgspec.Raw, shape: type[T], asked: str) -> T:
    found: Any = read_shape(content, shape, asked)
    return found  # type: ignore[no-any-return]


def _with_client_ids(holders: Iterable[Holder], store: WeightStore) -> list[Holder]:
    """Return holders with the client ids that the store lists beside their object ids."""
    known = {
        one.object_id: one.client_id
        for one in store.spec.identities or ()
        if one.object_id and one.client_id
    }
    return [
        msgspec.structs.replace(holder, client_id=known.get(holder.principal, ""))
        for holder in holders
    ]
