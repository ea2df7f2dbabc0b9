"""The Pods from which an access can have come. It asks nobody: all is in the histories.

The address is the proof and the identity the claim: a token can be carried elsewhere, an address
cannot be had by two at once. So nothing is exact unless both say the same Pod (docs/adr/0038).
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from audit.access.attribution import explanations
from audit.access.attribution.gaps import IDENTITIES, PODS
from audit.access.attribution.histories import Histories
from audit.access.attribution.identities import IdentityClaim
from audit.access.attribution.lives import Life
from audit.access.attribution.rules import ORDINARY, AttributionRules
from core.base.ids import uuid7_unix_ms
from core.weights.documents.access import (
    MOST_PODS,
    Access,
    Attribution,
    Caller,
    Confidence,
    SignedBy,
)

MOST_CANDIDATES: Final = 10_000
"""Pods that are looked at for one access; a service account with more is said to have so many."""

_TOKENS: Final = (SignedBy.OAUTH, SignedBy.DELEGATION_SAS)
"""No set: the hash of an enumeration's member is a function call, for each of so many accesses."""


class PodAttribution(msgspec.Struct, frozen=True):
    """An attribution, with all Pods that it can have been."""

    attribution: Attribution
    lives: tuple[Life, ...] = ()
    """At most MOST_CANDIDATES; `attribution` has the first MOST_PODS."""
    accounts: tuple[str, ...] = ()
    """Service accounts that sign in as whom the access names; empty: none does."""


def attribute(
    access: Access, histories: Histories, rules: AttributionRules = ORDINARY
) -> PodAttribution:
    """Say from which Pods an access can have come, and why."""
    if access.signed_by not in _TOKENS:
        return _nobody(explanations.explain_nobody(access.signed_by))
    claim = _claim(access, histories, rules)
    if claim is None:
        return _nobody(explanations.WITHOUT_IDENTITY)
    if rules.is_shared(access.address) or access.caller is Caller.NONE or not access.address:
        return _anywhere(access, claim, histories, rules)
    return _at_address(access, claim, histories, rules)


def _at_address(
    access: Access, claim: IdentityClaim, histories: Histories, rules: AttributionRules
) -> PodAttribution:
    near = _near(access.address, claim, histories, rules)
    if claim.of_nodes or not near:
        found = _mounted(access, claim, near, histories, rules)
        if found:
            return found
    if near:
        return _here(near, access, claim, histories, rules)
    if not claim.accounts:
        return _no_pod(explanations.explain_strangers(access), claim, histories, rules)
    why = explanations.explain_elsewhere(
        claim, access, *_elsewhere(access, claim, histories, rules)
    )
    return _no_pod(why, claim, histories, rules)


def _claim(access: Access, histories: Histories, rules: AttributionRules) -> IdentityClaim | None:
    delegated = access.signed_by is SignedBy.DELEGATION_SAS
    identities = histories.identities
    if delegated and access.delegator:
        client, who = identities.client_of(access.delegator), f"oid:{access.delegator}"
    elif access.application:
        client, who = access.application, f"client:{access.application}"
    elif access.principal:
        client, who = identities.client_of(access.principal), f"oid:{access.principal}"
    else:
        return None
    unix_s = uuid7_unix_ms(access.id) / 1000
    accounts: set[str] = set()
    if client:
        begin = unix_s - rules.lifetime_s - rules.skew_s
        accounts.update(identities.signing_in(client, begin, unix_s + rules.skew_s))
        accounts.update(histories.pods.claiming(client))
    of_nodes = not rules.node_identities.isdisjoint({client, access.principal, access.delegator})
    return IdentityClaim(who, client, tuple(sorted(accounts)), unix_s, delegated, of_nodes)


def _near(
    address: str, claim: IdentityClaim, histories: Histories, rules: AttributionRules
) -> list[Life]:
    """Return the Pods of the identity that had the address then; its own before its node's."""
    own: list[Life] = []
    hosted: list[Life] = []
    for account in claim.accounts:
        for life in histories.pods.at(account, address):
            if not life.lived(claim.unix_s, rules.clock_s):
                continue
            if not _signs(life, claim, histories, rules):
                continue
            if address in life.addresses:
                own.append(life)
            elif life.host_network or rules.leaves_as != "pod":
                hosted.append(life)
    return own or hosted


def _signs(life: Life, claim: IdentityClaim, histories: Histories, rules: AttributionRules) -> bool:
    """Return whether a Pod can sign in as whom the access names."""
    if claim.client in life.clients:
        return True
    begin = claim.unix_s - rules.lifetime_s - rules.skew_s
    end = claim.unix_s + rules.skew_s
    return histories.identities.could(life.service_account, claim.client, begin, end)


def _here(
    lives: list[Life],
    access: Access,
    claim: IdentityClaim,
    histories: Histories,
    rules: AttributionRules,
) -> PodAttribution:
    lives.sort(key=_name)
    own = access.address in lives[0].addresses
    gap = _gap(claim, histories, rules)
    doubts = [explanations.explain_gap(*gap)] if gap else []
    if len(lives) == 1 and lives[0].ended < claim.unix_s:
        doubts.append(explanations.ENDED_JUST_BEFORE)
    if claim.delegated and not own:
        doubts.append(explanations.CARRIED)
    certain = len(lives) == 1 and not doubts
    why = explanations.explain_here(claim, access, lives, own=own)
    why += explanations.explain_hint(access, lives) if len(lives) > 1 else ""
    confidence = Confidence.EXACT if certain else Confidence.ONE_OF
    return _found(confidence, "; ".join([why, *doubts]), lives, claim, histories, gaps=bool(gap))


def _anywhere(
    access: Access, claim: IdentityClaim, histories: Histories, rules: AttributionRules
) -> PodAttribution:
    """Attribute where the address tells nothing: to every Pod of the identity that lived then."""
    if not claim.accounts:
        return _no_pod(explanations.explain_strangers(access), claim, histories, rules)
    lives = list(islice(_alive(claim, histories, rules), MOST_CANDIDATES))
    if not lives:
        why = explanations.explain_elsewhere(claim, access, 0, None)
        return _no_pod(why, claim, histories, rules)
    lives.sort(key=_name)
    gap = _gap(claim, histories, rules)
    parts = [
        explanations.explain_anywhere(claim, access, len(lives))
        + explanations.explain_hint(access, lives)
    ]
    parts += [explanations.explain_gap(*gap)] if gap else []
    return _found(
        Confidence.ONE_OF, "; ".join(parts), lives, claim, histories, gaps=gap is not None
    )


def _mounted(
    access: Access,
    claim: IdentityClaim,
    near: Sequence[Life],
    histories: Histories,
    rules: AttributionRules,
) -> PodAttribution | None:
    """Attribute what a node read for its Pods: to those of it that mount the container.

    `near` are Pods there that can sign in as the nodes' identity themselves.
    """
    place = f"{access.account}/{access.container}"
    mounting = {
        life.uid: life
        for life in histories.pods.mounting(access.address, place)
        if life.lived(claim.unix_s, rules.clock_s)
        and (claim.of_nodes or not claim.accounts or _signs(life, claim, histories, rules))
    }
    if not mounting:
        known = histories.pods.is_node(access.address)
        lonely = claim.of_nodes and not near
        if not lonely:
            return None
        return _no_pod(
            explanations.explain_node(claim, access, known=known), claim, histories, rules
        )
    lives = sorted({**mounting, **{life.uid: life for life in near}}.values(), key=_name)
    gap = _gap(claim, histories, rules)
    parts = [explanations.explain_mounted(claim, access, lives)]
    parts += [explanations.explain_gap(*gap)] if gap else []
    return _found(Confidence.NODE, "; ".join(parts), lives, claim, histories, gaps=gap is not None)


def _alive(claim: IdentityClaim, histories: Histories, rules: AttributionRules) -> Iterator[Life]:
    for account in claim.accounts:
        for life in histories.pods.of(account):
            if life.lived(claim.unix_s, rules.clock_s) and _signs(life, claim, histories, rules):
                yield life


def _elsewhere(
    access: Access, claim: IdentityClaim, histories: Histories, rules: AttributionRules
) -> tuple[int, Life | None]:
    """Return how many Pods of the identity lived, and the last that had the address before."""
    alive = sum(1 for _ in islice(_alive(claim, histories, rules), MOST_CANDIDATES))
    begin = claim.unix_s - rules.lifetime_s - rules.skew_s
    before = [
        life
        for account in claim.accounts
        for life in histories.pods.at(account, access.address)
        if begin <= life.ended < claim.unix_s
    ]
    return alive, max(before, key=lambda life: (life.ended, life.uid), default=None)


def _gap(
    claim: IdentityClaim, histories: Histories, rules: AttributionRules
) -> tuple[str, float, float] | None:
    """Return what may be missing of the record: of Pods then, of identities while a token lives."""
    now, clock = claim.unix_s, rules.clock_s
    if found := histories.gaps.touches(PODS, now - clock, now + clock):
        return (PODS, *found)
    since = now - rules.lifetime_s - rules.skew_s
    if found := histories.gaps.touches(IDENTITIES, since, now + clock):
        return (IDENTITIES, *found)
    if histories.pods.lost >= now - clock:
        return PODS, now, histories.pods.lost
    return None


def _found(  # noqa: PLR0913  All that there is to say.
    confidence: Confidence,
    why: str,
    lives: Sequence[Life],
    claim: IdentityClaim,
    histories: Histories,
    *,
    gaps: bool,
) -> PodAttribution:
    admissions = [histories.admission(life) for life in lives[:MOST_PODS]]
    pods = [each.shown for each in admissions]
    if len(pods) == 1 and not pods[0].decision:
        found = admissions[0]
        why += f"; {explanations.explain_undecided(found.decisions, found.against)}"
    attribution = Attribution(
        confidence=confidence, why=why, among=len(lives), pods=pods, gaps=gaps
    )
    return PodAttribution(attribution, tuple(lives), claim.accounts)


def _name(life: Life) -> tuple[str, str]:
    return life.pod, life.uid


def _no_pod(
    why: str, claim: IdentityClaim, histories: Histories, rules: AttributionRules
) -> PodAttribution:
    """Attribute to none, which a gap in the record may be the reason of."""
    gap = _gap(claim, histories, rules)
    why = "; ".join([why, *([explanations.explain_gap(*gap)] if gap else [])])
    confidence = Confidence.UNATTRIBUTED
    attribution = Attribution(confidence=confidence, why=why, gaps=gap is not None)
    return PodAttribution(attribution, (), claim.accounts)


def _nobody(why: str) -> PodAttribution:
    return PodAttribution(Attribution(confidence=Confidence.UNATTRIBUTED, why=why))
