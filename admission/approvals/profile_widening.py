"""Creating or widening a ContainerProfile needs two approvals of the exact change.

Required only where the installation says so (`approvals.profiles`). Everything is read from the
request and from the approvals in memory.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from admission.approvals.approvals import ask_approved, guard_finding
from admission.model.facts import GuardFacts
from core.approvals.profile_widening import find_widenings, profile_proposal
from core.base import names
from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS
from core.base.sallyport_objects import Metadata
from core.cluster import Cluster
from core.decision.request import Operation, Request
from core.people.two_person import ApprovalTerms, NotApproved, person_of
from core.profiles.container_profiles import ContainerProfile, parse_profile

_SHOWN: Final = 4


class _Object(msgspec.Struct):
    metadata: Metadata = Metadata()


@dataclass(frozen=True)
class WideningGuard:
    """Finds what a change of a profile widens, and whether two others approved it."""

    cluster: Cluster
    terms: ApprovalTerms
    clock: Callable[[], float]

    async def gather(self, request: Request) -> GuardFacts:
        """Return what speaks against the request.

        Raises:
            CannotJudgeError: the approvals, or the rights of those who gave them, are not known.
            InvalidObjectError: the object does not have its kind's shape.
        """
        if request.object is None:
            raise InvalidObjectError(request.kind.kind, "object", "the review holds none")
        new, (old, uid) = parse_profile(request.object), _before(request)
        wider = find_widenings(old, new)
        if not wider:
            return GuardFacts({}, {})
        what = profile_proposal(new, uid, person_of(request.subject))
        # Those of other profiles that do not exist yet, and of other proposals, are none of it.
        known = self.cluster.break_glasses.consents(what.uid)
        consents = [each for each in known if each.digest == what.digest]
        tier, now = names.PROFILES_TIER, self.clock()
        answer = await ask_approved(self.cluster, what, consents, tier, now, self.terms)
        if not isinstance(answer, NotApproved):
            return GuardFacts({}, {})
        shown = ", ".join(wider[:_SHOWN]) + (f" and {len(wider) - _SHOWN} more" * _more(wider))
        message = f"{shown}; not approved: {'; '.join(answer.reasons)}"
        remedy = "Two others approve it first, just as it is: sallyport approve profile FILE."
        return GuardFacts({}, {}, (guard_finding("approvals/widening", "spec", message, remedy),))


def _more(wider: list[str]) -> bool:
    return len(wider) > _SHOWN


def _before(request: Request) -> tuple[ContainerProfile | None, str]:
    """Return the profile as it was, and its UID; one that cannot be read allowed nothing."""
    if request.operation is not Operation.UPDATE or request.old_object is None:
        return None, ""
    try:
        uid = msgspec.json.decode(request.old_object, type=_Object).metadata.uid
    except DECODE_ERRORS:
        return None, ""
    try:
        return parse_profile(request.old_object), uid
    except InvalidObjectError:
        return None, uid
