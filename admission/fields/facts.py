"""Gathers which fields of an object nobody has judged: those that the table does not know.

It reads memory. An ordinary object is decoded once more, in C; only one that has an unknown field
is looked through. What kube-apiserver fills in by itself, and what an update leaves as it was, do
not count: a newer kube-apiserver must not stop a cluster. An object of a file is judged as the gate
judges it; a misspelt field of it never reaches a gate, since kube-apiserver drops it.
"""

import asyncio
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Final

import msgspec

from admission.model.facts import Facts, FieldFacts
from admission.model.judged_object import LeftAlone, Reading
from admission.objects.reader import UNCHANGED
from core.cluster import Cluster
from core.decision.decision import Action, Finding
from core.decision.namespaces import WhenFieldUnknown
from core.decision.request import Phase, Request
from core.kubernetes.field_rows import NOTHING_KNOWN, KnownFields
from policies.fields.table import (
    BEYOND,
    MOST_FOUND,
    MOST_PARTS,
    FieldTable,
    UnknownField,
    built_in_rows,
    canonical_json,
    path_in_pod,
)

UNKNOWN: Final = "field/unknown"
"""The rule of fields that the table does not know."""

MOST_TOLD: Final = 8
"""Fields of one object that findings are made of; what there is more is counted."""

_LARGE: Final = 64 * 1024
"""Bytes of an object for which others may go on first."""

_LONGEST_VALUE: Final = 4096
"""Bytes of a value that is compared with what kube-apiserver fills in."""

_MESSAGE: Final = "has a meaning that this gate does not know: no rule has judged it"
_BEYOND: Final = "has more parts than are searched, and an unknown field may be in one of them"
_LEAVE_OUT: Final = (
    "Leave the field out, or ask your cluster's operators to review it (docs/operate/fields.md)."
)
_MISSPELT: Final = "Correct the field if it is misspelt: kube-apiserver drops it then. "
"""Said of files alone: what is about to be stored has no field that kube-apiserver drops."""
_REVIEW: Final = "Ask your cluster's operators to review the field (docs/operate/fields.md)."


@dataclass
class FieldGatherer:
    """Looks for unknown fields of what is written. Where what is known changes, it starts anew."""

    cluster: Cluster
    default: WhenFieldUnknown = WhenFieldUnknown.WARN
    """The rule of namespaces without the label, and of what lies in none."""
    _known: KnownFields = field(default=NOTHING_KNOWN, init=False)
    _table: FieldTable | None = field(default=None, init=False)

    async def of_reading(
        self, request: Request, reading: Reading | LeftAlone, facts: Facts
    ) -> Facts:
        """Add the fields that nobody has judged, unless the object is left alone."""
        if isinstance(reading, LeftAlone) and reading.why != UNCHANGED:
            return facts
        return await self.facts_of(request, facts)

    async def facts_of(self, request: Request, facts: Facts) -> Facts:
        """Add the fields that nobody has judged, of a final state or of a file."""
        submitted = request.object
        if request.phase is Phase.MUTATING or request.running or submitted is None:
            return facts
        table, kind = self._current_table(), request.kind
        if len(submitted) > _LARGE:
            await asyncio.sleep(0)
        if table.knows_all(kind.group, kind.kind, submitted):
            return facts
        before: set[tuple[str, bytes]] = set()
        if request.old_object is not None:
            old = await self._search(table, request, request.old_object, before, most=MOST_PARTS)
            before.update((each.at, each.value) for each in old)
        found = await self._search(table, request, submitted, before)
        if not found:
            return facts
        namespace = facts.namespace
        rule = namespace.when_field_unknown(self.default) if namespace else self.default
        remedy = _LEAVE_OUT if rule is WhenFieldUnknown.REFUSE else _REVIEW
        if request.phase is None:
            remedy = _MISSPELT + remedy
        return msgspec.structs.replace(facts, fields=FieldFacts(_findings(found, rule, remedy)))

    def _current_table(self) -> FieldTable:
        known = self.cluster.known_fields()
        if self._table is None or known is not self._known:
            self._known = known
            self._table = FieldTable(built_in_rows(), known.added)
        return self._table

    async def _search(
        self,
        table: FieldTable,
        request: Request,
        raw: msgspec.Raw,
        before: Container[tuple[str, bytes]],
        *,
        most: int = MOST_FOUND,
    ) -> list[UnknownField]:
        """Return what is unknown of an object, and neither filled in nor as it was before."""
        found = []
        kind = request.kind
        for each in table.search(
            kind.group,
            kind.kind,
            raw,
            is_ignored=lambda field: (field.at, field.value) in before or self._is_filled(field),
            most=most,
        ):
            if each is None:
                await asyncio.sleep(0)
            else:
                found.append(each)
        return found

    def _is_filled(self, found: UnknownField) -> bool:
        filled = self._known.filled
        if not filled or len(found.value) > _LONGEST_VALUE:
            return False
        return (path_in_pod(found.everywhere), canonical_json(found.value)) in filled


def _findings(
    found: list[UnknownField], rule: WhenFieldUnknown, remedy: str
) -> tuple[Finding, ...]:
    action = Action.DENY if rule is WhenFieldUnknown.REFUSE else Action.WARN
    found = list({(each.everywhere, each.value): each for each in reversed(found)}.values())[::-1]
    told = [
        Finding(UNKNOWN, action, each.path, _BEYOND if each is BEYOND else _MESSAGE, remedy)
        for each in found[:MOST_TOLD]
    ]
    more = len(found) - MOST_TOLD
    if more > 0:
        message = f"and {more} or more others have a meaning that this gate does not know"
        told.append(Finding(UNKNOWN, action, found[MOST_TOLD].path, message, remedy))
    return tuple(told)
