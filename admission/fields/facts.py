"""Gathers which fields of an object nobody has judged: those that the table does not know.

It reads memory. An ordinary object is decoded once more, in C; only one that has an unknown field
is looked through. What kube-apiserver fills in by itself, and what an update leaves as it was, do
not count: a newer kube-apiserver must not stop a cluster.
"""

import asyncio
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
_LEAVE_OUT: Final = (
    "Leave the field out, or ask your cluster's operators to review it (docs/operate/fields.md)."
)
_REVIEW: Final = "Ask your cluster's operators to review the field (docs/operate/fields.md)."


@dataclass
class FieldGatherer:
    """Looks for unknown fields of what is written. Where what is known changes, it starts anew."""

    cluster: Cluster
    default: WhenFieldUnknown = WhenFieldUnknown.WARN
    """The rule of namespaces without the label, and of what lies in none."""
    _known: KnownFields = field(default=NOTHING_KNOWN, init=False)
    _table: FieldTable | None = field(default=None, init=False)

    async def facts_of(self, request: Request, reading: Reading | LeftAlone, facts: Facts) -> Facts:
        """Add the fields of the final state of an object that nobody has judged."""
        submitted = request.object
        if request.phase is not Phase.VALIDATING or submitted is None:
            return facts
        if isinstance(reading, LeftAlone) and reading.why != UNCHANGED:
            return facts
        table, kind = self._current_table(), request.kind
        if len(submitted) > _LARGE:
            await asyncio.sleep(0)
        if table.knows_all(kind.group, kind.kind, submitted):
            return facts
        found = await self._search(table, request, submitted)
        if found and request.old_object is not None:
            before = await self._search(table, request, request.old_object)
            same = {(each.everywhere, each.value) for each in before}
            found = [each for each in found if (each.everywhere, each.value) not in same]
        if not found:
            return facts
        namespace = facts.namespace
        rule = namespace.when_field_unknown(self.default) if namespace else self.default
        refused = rule is WhenFieldUnknown.REFUSE
        return msgspec.structs.replace(facts, fields=FieldFacts(_findings(found, refused=refused)))

    def _current_table(self) -> FieldTable:
        known = self.cluster.known_fields()
        if self._table is None or known is not self._known:
            self._known = known
            self._table = FieldTable(built_in_rows(), known.added)
        return self._table

    async def _search(
        self, table: FieldTable, request: Request, raw: msgspec.Raw
    ) -> list[UnknownField]:
        found = []
        for each in table.search(request.kind.group, request.kind.kind, raw):
            if each is None:
                await asyncio.sleep(0)
            elif not self._is_filled(each):
                found.append(each)
        return found

    def _is_filled(self, found: UnknownField) -> bool:
        filled = self._known.filled
        if not filled or len(found.value) > _LONGEST_VALUE:
            return False
        return (path_in_pod(found.everywhere), canonical_json(found.value)) in filled


def _findings(found: list[UnknownField], *, refused: bool) -> tuple[Finding, ...]:
    action = Action.DENY if refused else Action.WARN
    remedy = _LEAVE_OUT if refused else _REVIEW
    told = [Finding(UNKNOWN, action, each.path, _MESSAGE, remedy) for each in found[:MOST_TOLD]]
    more = len(found) - MOST_TOLD
    if more > 0:
        message = f"and {more} or more others have a meaning that this gate does not know"
        told.append(Finding(UNKNOWN, action, found[MOST_TOLD].path, message, remedy))
    return tuple(told)
