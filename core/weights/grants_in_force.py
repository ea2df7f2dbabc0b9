"""Whether an AccessGrant is in force at a time. Pure: `find_lapse` says it to four who ask.

- The gate, of what covers a Pod now (`core.weights.grant_coverage`, `admission.weights.facts`).
  It asks besides whether the grant names the way, the account and the human.
- `control`, before it gives a role in Azure for as long as a grant is in force
  (`control.weights.access.live_grants`).
- The record of changes, of what to write down (`control.weights.changes.loop`): when an approval
  begins and ends. A grant whose time has not come is recorded as approved all the same.
- The auditor, of the time of an access (`audit.access.attribution.grants`). It was not there: what
  two people had approved then, and what was being deleted, it has from that record.

`control.weights.access.grant_expiry` alone, who tells owners of an end and evicts what outlives it,
counts approvals by their digest and asks nobody.

Whether two people have approved a grant is asked by `admission.approvals.approvals.ask_in_force`.
How far ahead it may end is looked at when it is written, and not again.
"""

import enum

from core.weights.access_grants import AccessGrant


class GrantLapse(enum.Enum):
    """Why a grant is not in force."""

    NOT_BEGUN = "not-begun"
    EXPIRED = "expired"
    DELETED = "deleted"
    """It is being deleted, and something keeps it there."""
    NOT_APPROVED = "not-approved"


def find_lapse(grant: AccessGrant, at: float, *, approved: bool) -> GrantLapse | None:
    """Return why a grant is not in force at a time, in Unix seconds; None where it is.

    `approved` is whether two people's approval counts then. Where that is not known yet and costs
    an access review, ask first as if it did.
    """
    if at < grant.begins:
        return GrantLapse.NOT_BEGUN
    if at >= grant.expires:
        return GrantLapse.EXPIRED
    if grant.meta.deletion_timestamp is not None:
        return GrantLapse.DELETED
    return None if approved else GrantLapse.NOT_APPROVED
