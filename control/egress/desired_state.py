"""The policies a namespace should have: asks what its allowlists depend on, and renders them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from control.egress.approvals import Approval, Approvals, Broad
from control.egress.cluster_state import EgressState
from control.egress.lookups import EgressLookups
from control.egress.plan import Json
from core.approvals.break_glass_egress import BreakGlassOpening, opened_pods
from core.base.errors import AccessReviewError, ClusterError
from core.egress.allowlists import EgressAllowlist
from core.egress.enrolment import WHOLLY_CLOSED, Closure
from core.kubernetes.label_selectors import Requirements
from core.people.two_person import Consent
from egress.compiler.allowlists import NO_REFERENCES, References, compile_allowlists, references_of
from egress.limits.breadth import combined_breadth_reasons, shared_names_reasons
from egress.model.facts import CompilerFacts
from egress.model.openings import CompiledAllowlists, Opening, Problem
from egress.render.target import RenderedNamespace
from kube.egress.watch import Intent

CONSIDER_S: Final = 30.0
"""What needs approval is asked for again after so long: who may approve may lose the right."""

TRIES: Final = 3
"""So often something that was never known may fail to be asked for; then it counts as a no."""


class UnknownError(ClusterError):
    """What allowlists depend on could not be asked for: what is there stays for now."""


@dataclass
class DesiredState:
    """What a namespace should have, and why."""

    policies: tuple[Json, ...] = ()
    """None where it is not enrolled."""
    references: References = NO_REFERENCES
    meaning: CompiledAllowlists = field(default_factory=lambda: CompiledAllowlists(""))
    open: tuple[Opening, ...] = ()
    """What of the meaning the policies open now."""
    problems: tuple[Problem, ...] = ()
    """Of the meaning, and of what the engine cannot say."""
    approvals: Mapping[str, Approval] = field(default_factory=dict)
    """By UID."""
    ends: list[float] = field(default_factory=list)
    """Unix seconds at which something ends, past or to come."""
    notes: tuple[str, ...] = ()
    """What could not be asked again, so that an older answer counts."""
    opened: tuple[BreakGlassOpening, ...] = ()
    """What BreakGlasses open beside."""
    spared: tuple[Opening, ...] = ()
    """What the guards of the policies are cut around."""


@dataclass
class DesiredStates:
    """Works out what is wanted."""

    state: EgressState
    facts: EgressLookups
    approvals: Approvals
    render: Callable[[CompiledAllowlists], RenderedNamespace]
    passes: Callable[[CompiledAllowlists], tuple[Json, ...]] = lambda _: ()
    """What else an engine with a floor for the cluster needs, beyond the namespace."""
    beyond: dict[str, tuple[Json, ...]] = field(default_factory=dict)
    """What that was, by namespace."""
    _approved: dict[str, tuple[float, Sequence[tuple[Broad, Sequence[Consent]]]]] = field(
        default_factory=dict
    )
    """What of a namespace needs approval, with the approvals that counted, and when."""

    def reconsider(self, now: float) -> frozenset[str]:
        """Name the namespaces whose approvals have changed, or were looked at long ago.

        Raises:
            NotSyncedError: approvals have not been loaded.
        """
        return frozenset(
            namespace
            for namespace, (at, known) in self._approved.items()
            if not 0 <= now - at < CONSIDER_S
            or any(self.approvals.consents(what) != before for what, before in known)
        )

    def floor(
        self,
        namespace: str,
        selects: Requirements = (),
        opened: Sequence[BreakGlassOpening] = (),
        spared: tuple[Opening, ...] = (),
    ) -> tuple[Json, ...]:
        """Return what a namespace has from its first moment; `selects` says whose Pods close.

        With what BreakGlasses open; guards deny nothing that `spared` names.
        """
        meaning = CompiledAllowlists(
            namespace, selects=selects, opened=opened_pods(opened), spared=spared
        )
        return self.render(meaning).objects

    def forget(self, namespace: str) -> DesiredState:
        """Say that a namespace should have nothing."""
        self.state.refer(namespace, NO_REFERENCES)
        self.beyond.pop(namespace, None)
        self._approved.pop(namespace, None)
        return DesiredState()

    async def of(  # noqa: PLR0913, PLR0917  All that it depends on.
        self,
        namespace: str,
        intents: Mapping[str, Intent],
        known: CompilerFacts,
        failed: int,
        closure: Closure = WHOLLY_CLOSED,
        opened: tuple[BreakGlassOpening, ...] = (),
    ) -> DesiredState:
        """Say what an enrolled namespace should have, which has failed so often before.

        Of one that is audited alone nothing is rendered, and all that its allowlists name is
        learnt: once it is closed nothing must be waited for. `opened` is what BreakGlasses open of
        what is closed.

        Raises:
            UnknownError: something could not be asked for.
            NotSyncedError: approvals have not been loaded.
        """
        sound = [each.allowlist for each in intents.values() if each.allowlist is not None]
        wanted = DesiredState(ends=[each.expires for each in sound], opened=opened)
        wanted.ends += [each.ends for each in opened]
        current = [each for each in sound if each.in_time(known.now)]
        wanted.references = references_of(current, self.state.sets)
        self.state.refer(namespace, wanted.references)
        problem = await self.facts.learn(wanted.references)
        if problem and failed < TRIES:
            raise UnknownError(problem)
        unapproved, approved = await self._unapproved(namespace, wanted, current, known, failed)
        known = replace(
            known,
            usable=self.facts.usable(wanted.references),
            services=self.facts.known_services(wanted.references),
            unapproved=unapproved,
            approved=approved,
        )
        meaning = compile_allowlists(namespace, sound, known).narrowed(closure.selects)
        wanted.meaning = meaning.with_opened(opened_pods(opened))
        rendered = self.render(wanted.meaning)
        wanted.problems = (*wanted.meaning.problems, *rendered.problems)
        wanted.notes = self.facts.notes(wanted.references)
        if closure.closes:
            wanted.policies, wanted.open = rendered.objects, rendered.open
            wanted.spared = rendered.spared
            self.beyond[namespace] = self.passes(wanted.meaning)
        else:
            self.beyond.pop(namespace, None)
        return wanted

    async def _unapproved(
        self,
        namespace: str,
        wanted: DesiredState,
        current: list[EgressAllowlist],
        known: CompilerFacts,
        failed: int,
    ) -> tuple[Mapping[str, str], frozenset[str] | None]:
        """Say by UID why what is broad may not be opened; and what two people have approved."""
        sets = self.state.sets
        used = [sets[name] for name in sorted(wanted.references.sets) if name in sets]
        broad: list[Broad] = [*current, *used]
        found = {each.meta.uid: await self._approval(each, known, failed) for each in broad}
        wanted.approvals = found
        asked = [each for each in broad if found[each.meta.uid].broad]
        self._approved.pop(namespace, None)
        if asked:
            consents = [(each, self.approvals.consents(each)) for each in asked]
            self._approved[namespace] = (known.now, consents)
        wanted.ends += [each.expires for each in used if each.expires is not None]
        wanted.ends += [each.until for each in found.values() if each.until is not None]
        measured = partial(self.approvals.measured, tags=known.tags)
        together = combined_breadth_reasons(current, self.approvals.limits, known.tags, measured)
        static = {each.meta.uid for each in broad if self.approvals.broad(each, known.tags)}
        closed = {uid: found[uid].why_not for uid in static if found[uid].why_not}
        approved = frozenset(uid for uid, each in found.items() if each.broad and not each.why_not)
        return together | closed, None if self.approvals.limits.approve == "none" else approved

    async def _approval(self, what: Broad, known: CompilerFacts, failed: int) -> Approval:
        shared: tuple[str, ...] = ()
        if self.approvals.limits.approve != "none":
            shared = shared_names_reasons(what.spec.to, known.names, known.tags)
        try:
            return await self.approvals.ask(what, known.tags, known.now, shared)
        except AccessReviewError as error:
            if failed < TRIES:
                raise UnknownError(str(error)) from error
            broad = "; ".join(filter(None, (self.approvals.broad(what, known.tags), *shared)))
            return Approval(broad, str(error))
