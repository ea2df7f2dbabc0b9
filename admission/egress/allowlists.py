"""EgressAllowlists and EgressDestinations: what of them is refused or warned of.

Beside access reviews it reads the namespace's allowlists and the sets that one refers to, as they
are now. What is broad by itself is accepted, and opens nothing until it is approved.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from admission.approvals.approvals import annotations_of, check_expiry, guard_finding, writers_of
from admission.egress.warnings import Intent, intent_warnings, warning_finding
from admission.model.facts import GuardFacts
from admission.model.messages import join_words
from admission.objects.size_limits import give_way
from core.base import names
from core.base.errors import InvalidObjectError, NotSyncedError
from core.base.networks import Span, merge_spans, subtract_spans
from core.base.sallyport_objects import UntypedObject
from core.cluster import Cluster
from core.decision.decision import Finding
from core.decision.request import Operation, Phase, Request
from core.egress.allowlists import (
    KIND,
    MAX_DAYS,
    EgressAllowlist,
    parse_allowlist,
    parse_destinations,
    read_intent,
)
from core.people.subject import service_account_subject
from core.people.two_person import person_of
from egress.compiler.allowlists import may_not_use_message
from egress.limits.breadth import excess_reasons, measure, reach_of
from egress.limits.settings import IntentSettings

_WRITTEN: Final = (names.AUTHOR_ANNOTATION, names.EDITORS_ANNOTATION)
_SHOWN: Final = 3

MOST_HERE: Final = 256
"""Allowlists of one namespace: whatever changes there, all of them are gone through."""
MOST_NETWORKS: Final = 20_000
"""Networks that these write out together, exceptions too: what they mean takes a second to say."""


class _Finalized(msgspec.Struct, frozen=True):
    finalizers: list[str] | None = None


class _Head(msgspec.Struct, frozen=True):
    metadata: _Finalized = _Finalized()


@dataclass(frozen=True)
class AllowlistGuard:
    """Gathers what must be recorded on an intent, and what speaks against it."""

    cluster: Cluster
    settings: IntentSettings
    clock: Callable[[], float]

    async def gather(self, request: Request) -> GuardFacts:
        """Return what must be recorded, what is, and what speaks against the request.

        Raises:
            CannotJudgeError: something that must be known cannot be.
            InvalidObjectError: it is no object of its kind at all.
        """
        raw, kind = request.object, request.kind.kind
        if raw is None:
            raise InvalidObjectError(kind, "object", "the review holds none")
        new = read_intent(raw, kind, request.namespace)
        await give_way(request)
        old = _before(request)
        found = annotations_of(new.meta.annotations, _WRITTEN)
        findings = await self._kept(request, new, old)
        if old is not None and old.digest == new.digest:
            # Not read further: one that an older release took can be deleted by all means.
            return GuardFacts(annotations_of(old.meta.annotations, _WRITTEN), found, findings)
        recorded = writers_of(old.meta if old else None, person_of(request.subject))
        if request.phase is Phase.MUTATING:
            return GuardFacts(recorded, found)
        await give_way(request)
        try:
            what = _parse(raw, kind, request.namespace)
        except InvalidObjectError as error:
            return GuardFacts(recorded, found, (*findings, _invalid(error)))
        return GuardFacts(recorded, found, (*findings, *await self._against(request, what)))

    async def _against(self, request: Request, what: Intent) -> tuple[Finding, ...]:
        now = self.clock()
        findings: tuple[Finding, ...] = ()
        if what.expires is not None:
            findings += check_expiry(now, what.expires, MAX_DAYS)
        if isinstance(what, EgressAllowlist):
            before = _allowlist_before(request)
            findings += await self._rights(what, before)
            there = await self.cluster.intents.in_namespace(what.meta.namespace)
            others = [each for each in there if each.meta.name != what.meta.name]
            findings += tuple(_too_many_here(what, before, others))
            findings += await self._together(what, before, others, now)
            findings += tuple([each async for each in self._absent(what)])
        return (*findings, *intent_warnings(what, self.settings, now))

    async def _kept(
        self, request: Request, new: UntypedObject, old: UntypedObject | None
    ) -> tuple[Finding, ...]:
        """Refuse that policies outlive their intent: who may `close` takes the finalizer away."""
        if old is None or not (_finalizers(request.old_object) - _finalizers(request.object)):
            return ()
        if await self.cluster.allowed(
            request.subject, names.CLOSE_VERB, names.ALLOWLISTS_RESOURCE, new.meta.name, ""
        ):
            return ()
        message = (
            f"{names.EGRESS_FINALIZER} goes once its policies have gone: control takes it away"
        )
        remedy = "Leave it there, and delete the allowlist."
        return (guard_finding("egress/finalizer", "metadata.finalizers", message, remedy),)

    async def _rights(
        self, what: EgressAllowlist, before: EgressAllowlist | None
    ) -> tuple[Finding, ...]:
        """Refuse sets that a service account may not use, where it did not refer to them before."""
        known = _uses(before) if before else frozenset()
        namespace = what.meta.namespace
        found = []
        for name, index in what.spec.sets.items():
            asked = [each for each in what.spec.service_accounts if (each, name) not in known]
            answers = await asyncio.gather(
                *(
                    self.cluster.allowed(
                        service_account_subject(namespace, each),
                        names.USE_VERB,
                        names.DESTINATIONS_RESOURCE,
                        name,
                        namespace,
                    )
                    for each in asked
                )
            )
            refused = [each for each, allowed in zip(asked, answers, strict=True) if not allowed]
            if refused:
                message = may_not_use_message(refused, name, namespace)
                remedy = "Ask the owners of the set, or leave it out."
                place = f"spec.to[{index}].destinations"
                found.append(guard_finding("egress/sets", place, message, remedy))
        return tuple(found)

    async def _together(
        self,
        what: EgressAllowlist,
        before: EgressAllowlist | None,
        there: Sequence[EgressAllowlist],
        now: float,
    ) -> tuple[Finding, ...]:
        """Refuse what is broader than the limits only with other allowlists of the namespace.

        Those that are broad by themselves are none of it: two people answer for each.
        """
        limits, tags = self.settings.limits, self.settings.tags
        own, broad = measure(what.spec.to, limits, tags)
        if not own or broad:
            return ()
        others: list[Span] = []
        adding: list[str] = []
        for each in there:
            await asyncio.sleep(0)  # There may be many: other reviews have their turn.
            if not each.in_time(now):
                continue
            found = measure(each.spec.to, limits, tags)
            if found.spans and not found.reasons:
                others += found.spans
                adding.append(each.meta.name)
        reasons = [*excess_reasons(merge_spans([*own, *others]), limits)]
        had: list[Span] = []
        if before is not None and not measure(before.spec.to, limits, tags).reasons:
            had = reach_of(before.spec.to, tags)  # What waits for two people has opened nothing.
        if not (reasons and adding and _beyond(own, merge_spans([*others, *had]))):
            return ()
        message = f"with {join_words(sorted(adding), _SHOWN)} of this namespace: {reasons[0]}"
        remedy = "Put these into one allowlist: two others can approve that one."
        return (guard_finding("egress/together", "spec.to", message, remedy),)

    async def _absent(self, what: EgressAllowlist) -> AsyncIterator[Finding]:
        """Yield what it rests on and is not there, or not yet: it is taken all the same."""
        place = what.meta.namespace
        closure = self.settings.enrolment.closure(await self.cluster.namespace(place))
        if not closure.closes:
            how = "audited" if closure.labels_pods else "not enrolled"
            message = f"has no effect yet: the namespace is {how}, all is open there"
            remedy = f"Its operators set the label {names.EGRESS_LABEL}: deny."
            yield warning_finding("not-enrolled", "", f"it {message}", remedy)
        for index, name in enumerate(what.spec.service_accounts):
            if not self._knows(place, name):
                path = f"spec.serviceAccounts[{index}]"
                yield warning_finding(
                    "account", path, "there is no such ServiceAccount here", "Create it."
                )
        for name, index in what.spec.sets.items():
            if await self.cluster.intents.destinations(name) is None:
                path = f"spec.to[{index}].destinations"
                yield warning_finding(
                    "no-set", path, f"there is no EgressDestinations {name}", "Create it."
                )

    def _knows(self, namespace: str, account: str) -> bool:
        try:
            return self.cluster.service_account_made(namespace, account) is not None
        except NotSyncedError:  # It is only to warn.
            return True


def _too_many_here(
    what: EgressAllowlist, before: EgressAllowlist | None, others: Sequence[EgressAllowlist]
) -> Iterator[Finding]:
    """Refuse what would take so long to work out that other namespaces have to wait."""
    remedy = "Put what belongs together into one allowlist, and delete those that are over."
    if before is None and len(others) >= MOST_HERE:
        message = f"the namespace has {MOST_HERE} allowlists, or more"
        yield guard_finding("egress/many", "metadata.namespace", message, remedy)
    own, had = _written_out(what), _written_out(before) if before else 0
    count = own + sum(map(_written_out, others))
    if own > had and count > MOST_NETWORKS:
        message = f"with the namespace's other allowlists it names {count} networks"
        remedy = f"Name fewer and larger ones, or a service tag: {MOST_NETWORKS} can be."
        yield guard_finding("egress/many", "spec.to", message, remedy)


def _written_out(allowlist: EgressAllowlist) -> int:
    """Count the networks that are written in an allowlist."""
    return sum(
        (each.cidr is not None) + len(each.except_ or ()) + len(each.within or ())
        for each in allowlist.spec.to
    )


def _parse(raw: msgspec.Raw, kind: str, namespace: str) -> Intent:
    return parse_allowlist(raw, namespace) if kind == KIND else parse_destinations(raw, namespace)


def _invalid(error: InvalidObjectError) -> Finding:
    """Say what the definition cannot say, and the types do: overlaps, another writing, punycode."""
    return guard_finding("egress/invalid", error.field, error.problem, "Correct it.")


def _before(request: Request) -> UntypedObject | None:
    if request.operation is not Operation.UPDATE or request.old_object is None:
        return None
    return read_intent(request.old_object, request.kind.kind, request.namespace)


def _allowlist_before(request: Request) -> EgressAllowlist | None:
    """Return the allowlist as it was; one that cannot be read opened nothing."""
    if request.operation is not Operation.UPDATE or request.old_object is None:
        return None
    try:
        return parse_allowlist(request.old_object, request.namespace)
    except InvalidObjectError:
        return None


def _finalizers(raw: msgspec.Raw | None) -> frozenset[str]:
    """Return Sallyport's own among the finalizers; `read_intent` has read the object before."""
    found = msgspec.json.decode(raw, type=_Head).metadata.finalizers if raw is not None else None
    return frozenset(found or ()) & {names.EGRESS_FINALIZER}


def _uses(allowlist: EgressAllowlist) -> frozenset[tuple[str, str]]:
    spec = allowlist.spec
    return frozenset((account, name) for account in spec.service_accounts for name in spec.sets)


def _beyond(spans: Sequence[Span], known: Sequence[Span]) -> bool:
    return any(subtract_spans(span, known) for span in spans)
