"""Narrowing or deleting a WeightStore needs two approvals of the exact change.

A store that names less protects less: who may write it could otherwise take out what is in their
way. Everything is read from the request and from the approvals in memory (docs/adr/0039).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from admission.approvals.approvals import ask_approved, guard_finding
from admission.model.facts import GuardFacts
from core.approvals.store_narrowing import find_narrowings, store_proposal
from core.base import names
from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS
from core.base.sallyport_objects import Metadata
from core.cluster import Cluster
from core.decision.request import Operation, Request
from core.people.two_person import ApprovalTerms, NotApproved, person_of
from core.weights.stores import KIND, WeightStore, parse_store

NARROWING_RULE: Final = "approvals/narrowing"

_SHOWN: Final = 4
_JUDGED: Final = frozenset({Operation.CREATE, Operation.UPDATE, Operation.DELETE})
_NOTHING: Final = GuardFacts({}, {})


class _Object(msgspec.Struct):
    metadata: Metadata = Metadata()


def is_store_write(request: Request) -> bool:
    """Return whether a request writes or removes a WeightStore."""
    return request.kind.kind == KIND and request.operation in _JUDGED


@dataclass(frozen=True)
class NarrowingGuard:
    """Finds what a change of a store narrows, and whether two others approved it."""

    cluster: Cluster
    terms: ApprovalTerms
    clock: Callable[[], float]

    async def gather(self, request: Request) -> GuardFacts:
        """Return what speaks against the request.

        Raises:
            CannotJudgeError: the approvals, or the rights of those who gave them, are not known.
            InvalidObjectError: the object does not have its kind's shape.
        """
        if request.operation is Operation.CREATE:
            _new(request)
            return _NOTHING
        if request.old_object is None:
            raise InvalidObjectError(KIND, "oldObject", "the review holds none")
        new = None if request.operation is Operation.DELETE else _new(request)
        old, meta = _before(request.old_object)
        less = find_narrowings(old, new) if old is not None else ["could not be read as it was"]
        if not less:
            return _NOTHING
        what = store_proposal(meta.name, new, meta.uid, person_of(request.subject))
        known = self.cluster.break_glasses.consents(what.uid)
        consents = [each for each in known if each.digest == what.digest]
        tier, now = names.GRANTS_TIER, self.clock()
        answer = await ask_approved(self.cluster, what, consents, tier, now, self.terms)
        if not isinstance(answer, NotApproved):
            return _NOTHING
        more = f" and {len(less) - _SHOWN} more" if len(less) > _SHOWN else ""
        message = f"{'; '.join(less[:_SHOWN])}{more}; not approved: {'; '.join(answer.reasons)}"
        how = f"store-removal {meta.name}" if new is None else "store FILE"
        remedy = f"Two others approve it first, just as it is: sallyport approve {how}."
        return GuardFacts({}, {}, (guard_finding(NARROWING_RULE, "spec", message, remedy),))


def _new(request: Request) -> WeightStore:
    if request.object is None:
        raise InvalidObjectError(KIND, "object", "the review holds none")
    return parse_store(request.object)


def _before(raw: msgspec.Raw) -> tuple[WeightStore | None, Metadata]:
    """Return the store as it was; one that cannot be read may have guarded anything."""
    try:
        meta = msgspec.json.decode(raw, type=_Object).metadata
    except DECODE_ERRORS:
        return None, Metadata()
    try:
        return parse_store(raw), meta
    except InvalidObjectError:
        return None, meta
