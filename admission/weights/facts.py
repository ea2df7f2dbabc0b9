"""Gathers whether what reaches model weights does so under live, twice-approved AccessGrants.

It reads memory, and access reviews of approvers that are not cached. At 2,000 grants of 500
namespaces a review looks at those of one. What the Pods of a gang share is worked out once a second
(docs/adr/0039).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from admission.approvals.approvals import ask_in_force
from admission.model.facts import Facts, WeightFacts
from admission.model.judged_object import LeftAlone, Reading
from admission.model.second_cache import CacheKey, SecondCache
from admission.weights.access_paths import AccessPaths, AccountPath
from admission.weights.volumes import copy_findings, is_copy, is_volume, volume_findings
from core.cluster import Cluster
from core.decision.decision import Finding
from core.decision.request import Request
from core.people.two_person import ApprovalTerms, Consent, NotApproved
from core.weights.access_grants import KIND, AccessGrant
from core.weights.access_paths import UngrantedPath, WeightStoreSet
from core.weights.grant_coverage import (
    ANYBODY,
    MOST_NOTED,
    NOBODY,
    GrantAsker,
    asker_of,
    asker_of_note,
    note_of_grant,
    why_not_covered,
)

_Answers = dict[str, str]
"""By a grant's UID: why it is not approved; empty if it is."""


@dataclass(frozen=True)
class _Covered:
    """What was worked out, and what it rests on: the very objects, which change as a whole."""

    facts: WeightFacts
    stores: WeightStoreSet
    grants: Sequence[AccessGrant]
    consents: Mapping[str, Sequence[Consent]]
    """By UID of the grants that cover it."""


@dataclass(frozen=True)
class WeightGatherer:
    """Finds the grants that cover a request's paths to weights."""

    cluster: Cluster
    terms: ApprovalTerms
    clock: Callable[[], float]
    _lately: SecondCache[_Covered] = field(default_factory=SecondCache)
    """Only what grants cover; what they do not is worked out each time."""

    async def facts_of(self, request: Request, reading: Reading | LeftAlone, facts: Facts) -> Facts:
        """Add what is known of the weights that a request reaches.

        Raises:
            NotSyncedError: stores, or the grants of one that is reached, are not known.
            AccessReviewError: the cluster did not say whether an approver may approve.
            InvalidObjectError: a volume does not have its shape.
        """
        if request.asked_profile is not None:
            return facts
        stores = self.cluster.weights.stores()
        if not stores:
            return facts
        if is_volume(request) or is_copy(request):
            findings = self._against(request, stores)
            known = WeightFacts(findings=findings) if findings else None
            return msgspec.structs.replace(facts, weights=known)
        if isinstance(reading, LeftAlone):
            return facts
        reached = self._reaching.of(request, reading, stores)
        if not reached:
            return facts
        namespace = request.namespace
        grants = self.cluster.weights.grants(namespace) if namespace else ()
        key = (namespace, *_behind(request, facts), *map(_way_key, reached))
        found = self._known(key, stores, grants, namespace)
        if found is None:
            found = await self._held(reached, namespace, _asker(request, facts), grants)
            self._keep(key, found, stores, grants)
        return msgspec.structs.replace(facts, weights=found)

    def _against(self, request: Request, stores: WeightStoreSet) -> tuple[Finding, ...]:
        if is_volume(request):
            return volume_findings(request, stores)
        return copy_findings(request, self.cluster.volumes_of_namespace, stores)

    def _known(
        self, key: CacheKey, stores: WeightStoreSet, grants: Sequence[AccessGrant], namespace: str
    ) -> WeightFacts | None:
        """Return what was worked out a moment ago, if nothing that it rests on has changed."""
        self._lately.turn_to(self.clock())
        known = self._lately.found.get(key)
        if known is None or known.stores is not stores or known.grants is not grants:
            return None
        consents = self.cluster.exceptions.consents
        same = all(consents(namespace, uid) is was for uid, was in known.consents.items())
        return known.facts if same else None

    def _keep(
        self,
        key: CacheKey,
        found: WeightFacts,
        stores: WeightStoreSet,
        grants: Sequence[AccessGrant],
    ) -> None:
        if found.ungranted or self._lately.is_full:
            return
        used = [each for each in grants if each.id in found.grants]
        consents = {
            each.meta.uid: self.cluster.exceptions.consents(each.meta.namespace, each.meta.uid)
            for each in used
        }
        # To the second: a grant that ends before is not believed longer.
        self._lately.until = min([self._lately.until, *(each.expires for each in used)])
        self._lately.keep(key, _Covered(found, stores, grants, consents))

    @cached_property
    def _reaching(self) -> AccessPaths:
        return AccessPaths(self.cluster)

    async def _held(
        self,
        reached: Sequence[AccountPath],
        namespace: str,
        asker: GrantAsker,
        grants: Sequence[AccessGrant],
    ) -> WeightFacts:
        answers: _Answers = {}
        used: dict[str, AccessGrant] = {}
        ungranted: list[UngrantedPath] = []
        for one in reached:
            of_store = [each for each in grants if each.spec.store == one.way.store.name]
            covering, reasons = await self._sorted(one, of_store, asker, answers)
            used |= {each.id: each for each in covering}
            if not covering:
                ungranted.append(UngrantedPath(one.way, one.account, reasons))
        return WeightFacts(
            ungranted=tuple(ungranted),
            around=tuple(one.way for one in reached if one.way.public),
            grants=tuple(sorted(used)),
            noted=",".join(sorted(map(note_of_grant, used.values()))[:MOST_NOTED]),
            stores=tuple(sorted({one.way.store.name for one in reached})),
            namespace=namespace,
            asker=asker,
        )

    async def _sorted(
        self, one: AccountPath, grants: Sequence[AccessGrant], asker: GrantAsker, answers: _Answers
    ) -> tuple[list[AccessGrant], tuple[tuple[str, str], ...]]:
        """Return the grants that cover a way, and of the others why they do not."""
        covering: list[AccessGrant] = []
        reasons: list[tuple[str, str]] = []
        now = self.clock()
        for grant in grants:
            why = why_not_covered(grant, one.way, one.account, asker, now)
            if not why:
                if grant.meta.uid not in answers:
                    answers[grant.meta.uid] = await self._unapproved(grant, now)
                why = answers[grant.meta.uid]
            if why:
                reasons.append((grant.meta.name, why))
            else:
                covering.append(grant)
        return covering, tuple(reasons)

    async def _unapproved(self, grant: AccessGrant, now: float) -> str:
        """Say why a grant that covers a way is not approved now; empty if it is."""
        what = grant.approvable
        consents = self.cluster.exceptions.consents(grant.meta.namespace, what.uid)
        answer = await ask_in_force(self.cluster, what, consents, KIND, now, self.terms)
        if not isinstance(answer, NotApproved):
            return ""
        why = "; ".join(answer.reasons)
        return why if answer.suspended else f"not approved: {why}"


def _way_key(one: AccountPath) -> CacheKey:
    way = one.way
    where = (way.store.name, way.by, way.shown, way.container, way.rights, way.public)
    return (*where, way.path, one.account)


def _behind(request: Request, facts: Facts) -> CacheKey:
    """Tell the human behind a request from all others."""
    if request.running or request.by_accounts:
        return ("anybody",)
    if facts.origin is not None:
        root = facts.origin.root
        return ("root", root.requester, root.grants) if root else ("gone",)
    subject = request.subject
    return ("asks", subject.username, *subject.groups, None, *subject.extra.get("oid", ()))


def _asker(request: Request, facts: Facts) -> GrantAsker:
    """Return the human behind a request: the requester, or the author of the workload."""
    if request.running or request.by_accounts:
        return ANYBODY
    if facts.origin is None:
        return asker_of(request.subject)
    root = facts.origin.root
    if root is None or root.requester is None:
        return NOBODY
    return asker_of_note(root.requester, root.grants or "")
