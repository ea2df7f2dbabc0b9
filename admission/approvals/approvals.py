"""Asks whether two people have approved an object, and may do so still."""

from collections.abc import Sequence

from core.base import names
from core.cluster import Cluster
from core.people.two_person import (
    Approvable,
    ApprovalTerms,
    Approved,
    Consent,
    NotApproved,
    judge_approval,
)


async def ask_approved(  # noqa: PLR0913, PLR0917  All that the rule looks at.
    cluster: Cluster,
    what: Approvable,
    consents: Sequence[Consent],
    tier: str,
    now: float,
    terms: ApprovalTerms,
    *,
    endures: bool = False,
) -> Approved | NotApproved:
    """Return whether an object is approved. Nobody is asked where the answer is no anyway.

    `endures` is as in `core.people.two_person.judge_approval`.

    Raises:
        AccessReviewError: the cluster did not say whether an approver may approve.
    """
    everyone = {each.approval for each in consents}
    answer = judge_approval(what, consents, everyone, now, terms, endures=endures)
    if isinstance(answer, NotApproved):
        return answer
    holders = {
        each.approval
        for each in consents
        if each.digest == what.digest
        and await cluster.allowed(each.approver, names.APPROVE_VERB, names.TIERS_RESOURCE, tier, "")
    }
    return judge_approval(what, consents, holders, now, terms, endures=endures)
