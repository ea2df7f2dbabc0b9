"""Brings one namespace, or the cluster's own policies, to the desired state; writes statuses."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from control.egress import eviction, foreign_policies
from control.egress import status as telling
from control.egress.approvals import Approval
from control.egress.break_glass import BreakGlassOpenings
from control.egress.cluster_state import CLUSTER, EgressState
from control.egress.desired_state import DesiredState, DesiredStates, UnknownError
from control.egress.eviction import Evictions
from control.egress.plan import Apply, Delete, Json, Step, plan_of
from control.egress.status import AllowlistSituation
from control.egress.weight_openings import WeightOpenings
from control.egress.writer import NameTakenError, PolicyWriter
from core.approvals.break_glass_egress import BreakGlassOpening
from core.base import names
from core.base.errors import ClusterError, NotSyncedError
from core.egress.enrolment import Closure
from core.kubernetes.conditions import Condition
from egress.model.facts import CompilerFacts
from egress.model.openings import Opening
from egress.render.generated_objects import BREAK_GLASS_NAMES, DEFAULT_DENY, DNS
from kube.egress.network_policies import LivePolicy
from kube.egress.watch import Intent, IntentStatus
from kube.leader.lease import Leadership

_CLOSING: Final = frozenset({DEFAULT_DENY, DNS})
_UNWRITTEN: Final = "nothing is made in a namespace that is being deleted"


@dataclass(frozen=True)
class NamespaceOutcome:
    """How a namespace stands after it was looked at."""

    enrolled: bool = False
    states: Mapping[str, int] = field(default_factory=dict)
    """How many of its allowlists have each reason of the condition Ready."""
    policies: int = 0
    taken: tuple[str, ...] = ()
    """Names that policies of others have."""
    foreign: int = 0
    """Policies of others that open more than allowlists say."""
    writes: int = 0
    ends: float | None = None
    """Unix seconds at which the next thing ends."""
    failures: tuple[str, ...] = ()
    """Writes that failed, for people."""
    waits: bool = False
    """Whether Pods are left that could not be evicted yet."""
    opened: bool = False
    """Whether a BreakGlass opens all of it, or some Pods."""


@dataclass
class _NamespaceLook:
    """One look at a namespace: how it went."""

    namespace: str
    closure: Closure
    intents: Mapping[str, Intent]
    wanted: DesiredState = field(default_factory=DesiredState)
    opened: tuple[BreakGlassOpening, ...] = ()
    """What BreakGlasses open."""
    unopened: list[str] = field(default_factory=list)
    """Why the policies that do so could not be written."""
    stays: tuple[BreakGlassOpening, ...] = ()
    """What of that was open before."""
    failures: dict[str, list[str]] = field(default_factory=dict)
    """Of each allowlist; those of none under the empty name."""
    taken: dict[str, list[str]] = field(default_factory=dict)
    evicted: dict[str, Condition] = field(default_factory=dict)
    writes: int = 0
    foreign: int = 0

    def fail(self, allowlist: str, text: str) -> None:
        self.failures.setdefault(allowlist, []).append(text)

    def take(self, allowlist: str, name: str) -> None:
        self.taken.setdefault(allowlist, []).append(name)

    def outcome(
        self, policies: Collection[LivePolicy], states: Mapping[str, int], now: float
    ) -> NamespaceOutcome:
        return NamespaceOutcome(
            self.closure.is_whole,
            states,
            sum(each.ours for each in policies),
            tuple(name for some in self.taken.values() for name in some),
            self.foreign,
            self.writes,
            ends=min((each for each in self.wanted.ends if each > now), default=None),
            failures=tuple(text for texts in self.failures.values() for text in texts),
            waits=any(each.status == "False" for each in self.evicted.values()),
            opened=any(each.ours and each.name in BREAK_GLASS_NAMES for each in policies),
        )


@dataclass
class Reconciler:
    """Looks at one namespace at a time, and writes what differs."""

    state: EgressState
    wanting: DesiredStates
    writer: PolicyWriter
    evictions: Evictions
    deletes: bool = False
    """Whether what others' policies open beyond allowlists is taken away, not only told."""
    weights: WeightOpenings | None = None
    """Who tells the gate what leads to model weights; None where nobody does."""
    glass: BreakGlassOpenings | None = None
    """Who says what BreakGlasses open; None where nobody does, and none opens anything."""
    _opened: dict[str, tuple[BreakGlassOpening, ...]] = field(default_factory=dict)
    """What BreakGlasses opened when it was last written, by namespace."""
    _open: dict[str, tuple[BreakGlassOpening, ...]] = field(default_factory=dict)
    """What BreakGlasses opened after the last look, by namespace."""
    _spared: dict[str, tuple[Opening, ...]] = field(default_factory=dict)
    """What its guards were cut around when it was last written, by namespace."""
    _told: dict[str, dict[str, str]] = field(default_factory=dict)
    """What was told of others' policies: by namespace, by UID."""

    async def run(
        self, leadership: Leadership, namespace: str, known: CompilerFacts, failed: int
    ) -> NamespaceOutcome:
        """Look at a namespace, which has failed so often before.

        Raises:
            UnknownError: something could not be asked for; nothing but a default deny was written.
            ClusterError: kube-apiserver does not answer.
            NotSyncedError: approvals have not been loaded.
            NotLeaderError: leadership was lost.
        """
        place = self.state.places.get(namespace)
        if place is None:
            self.wanting.forget(namespace)
            self._opened.pop(namespace, None)
            self._open.pop(namespace, None)
            self._spared.pop(namespace, None)
            return NamespaceOutcome()
        look = _NamespaceLook(
            namespace, self.state.closure_of(namespace), self.state.intents_of(namespace)
        )
        if look.closure.closes:
            await self._shut(leadership, look)
            if not place.terminating:
                await self._deny(leadership, look)
                await self._hold_all(leadership, look)
            look.wanted = await self.wanting.of(
                namespace, look.intents, known, failed, look.closure, look.opened
            )
        if self.weights is not None:  # Before anything opens: whoever is let in is asked for more.
            sound = {name: one.allowlist for name, one in look.intents.items() if one.allowlist}
            try:
                await self.weights.tell(
                    leadership, namespace, look.closure, look.wanted, sound, self.state.sets
                )
            except (ClusterError, NotSyncedError):
                await self._delete_ended(leadership, look)
                raise
        self._spared[namespace] = look.wanted.spared
        await self._write(leadership, look, makes=not place.terminating)
        self._opened[namespace] = look.opened
        await self._close(leadership, look)
        if not look.closure.closes:  # Once it is open: nothing that is asked for delays that.
            await self._learn(look, known, failed)
        await self._evict(leadership, look, known.now)
        states = await self._tell(leadership, look, known.now)
        look.foreign = await self._foreign(leadership, look, known.now)
        return look.outcome(self._live(namespace), states, known.now)

    def open_by_glass(self, namespace: str) -> tuple[BreakGlassOpening, ...]:
        """Return what BreakGlasses open of a namespace, as of the last look."""
        return self._open.get(namespace, ())

    def forget(self) -> None:
        """Forget what was written, and the gate was told: another replica may write."""
        self._opened.clear()
        self._open.clear()
        self._spared.clear()
        if self.weights is not None:
            self.weights.forget()

    async def _learn(self, look: _NamespaceLook, known: CompilerFacts, failed: int) -> None:
        """Learn what the allowlists of an audited namespace name, and how they would stand."""
        if not look.closure.labels_pods:
            self.wanting.forget(look.namespace)
            return
        try:
            look.wanted = await self.wanting.of(
                look.namespace, look.intents, known, failed, look.closure
            )
        except (UnknownError, NotSyncedError) as error:
            look.fail("", str(error))

    def _live(self, namespace: str) -> tuple[LivePolicy, ...]:
        return tuple(self.state.policies.get(namespace, {}).values())

    async def _shut(self, leadership: Leadership, look: _NamespaceLook) -> None:
        """Close what no BreakGlass opens any more, before anything else is asked or written.

        Nothing more is opened: the gate must hear of that first.
        """
        live = tuple(
            each
            for each in self._live(look.namespace)
            if each.ours and each.name in BREAK_GLASS_NAMES
        )
        if self.glass is not None:
            await self._look_for_glass(self.glass, look, is_open=bool(live))
        before = self._opened.get(look.namespace)
        look.stays = tuple(each for each in look.opened if before is None or each in before)
        if not live:
            return
        there = {each.name for each in live}
        floor = self.wanting.floor(look.namespace, look.closure.selects, look.stays)
        kept = [each for each in floor if each["metadata"]["name"] in there]
        for step in plan_of(kept, live).steps:
            # What another process opened may have been less: it opens once the gate was told.
            if before is None and isinstance(step, Apply) and step.live is not None:
                await self._do(leadership, look, Delete(step.live))
            else:
                await self._do(leadership, look, step)

    async def _look_for_glass(
        self, glass: BreakGlassOpenings, look: _NamespaceLook, *, is_open: bool
    ) -> None:
        """Note what BreakGlasses open; nothing where that is not known."""
        try:
            look.opened, problem = await glass.of(look.namespace)
        except NotSyncedError as error:
            problem = f"what a BreakGlass opened is closed: {error}" if is_open else ""
        if problem:
            look.fail("", problem)

    async def _deny(self, leadership: Leadership, look: _NamespaceLook) -> None:
        """Make what is missing of what closes the namespace, before anything is asked.

        Also what is there and closes less, as of single workloads alone. Guards deny nothing that
        allowlists named when it was last written: what a BreakGlass opened ends so, and no more.
        Where that is not known, guards that are there stay as they are, and new ones deny it all.
        """
        live = self._live(look.namespace)
        spared = self._spared.get(look.namespace)
        kept = {each.name for each in live} - _CLOSING if spared is None else frozenset[str]()
        floor = self.wanting.floor(look.namespace, look.closure.selects, look.stays, spared or ())
        unwritten = kept | BREAK_GLASS_NAMES
        wanted = [each for each in floor if each["metadata"]["name"] not in unwritten]
        named = {each["metadata"]["name"] for each in wanted}
        steps = plan_of(wanted, tuple(each for each in live if each.name in named)).steps
        for step in steps:
            await self._do(leadership, look, step)

    async def _write(self, leadership: Leadership, look: _NamespaceLook, *, makes: bool) -> None:
        """Do all steps; one that fails keeps no other from being done."""
        plan = plan_of(look.wanted.policies, self._live(look.namespace))
        allowlists = {each["metadata"]["name"]: _said_by(each) for each in look.wanted.policies}
        for each in plan.taken:
            look.take(allowlists[each.name], each.name)
        for step in plan.steps:
            if makes or isinstance(step, Delete) or step.live is not None:
                await self._do(leadership, look, step)

    async def _delete_ended(self, leadership: Leadership, look: _NamespaceLook) -> None:
        """Delete what no allowlist opens any more; guards stay, for without them more is open."""
        for step in plan_of(look.wanted.policies, self._live(look.namespace)).steps:
            if isinstance(step, Delete) and step.live.allowlist:
                await self._do(leadership, look, step)

    async def _do(self, leadership: Leadership, look: _NamespaceLook, step: Step) -> None:
        allowlist = step.live.allowlist if isinstance(step, Delete) else _said_by(step.wanted)
        try:
            if isinstance(step, Apply) and allowlist:
                await self._hold(leadership, look.intents[allowlist])
            written = await self.writer.do(leadership, step)
        except NameTakenError:
            if isinstance(step, Apply):
                look.take(allowlist, step.wanted["metadata"]["name"])
        except ClusterError as error:
            if not error.status:
                raise
            look.fail(allowlist, str(error))
            if isinstance(step, Apply) and _name_of(step.wanted) in BREAK_GLASS_NAMES:
                look.unopened.append(str(error))
        else:
            look.writes += 1
            if written is not None:
                self.state.wrote(written)
            elif isinstance(step, Delete):
                self.state.deleted(step.live)

    def _opening(self, look: _NamespaceLook) -> tuple[tuple[BreakGlassOpening, ...], str]:
        """Return what BreakGlasses open by the policies that are there; why not all, where so."""
        opened = look.wanted.opened
        glass = [each for each in look.wanted.policies if _name_of(each) in BREAK_GLASS_NAMES]
        live = [each for each in self._live(look.namespace) if each.name in BREAK_GLASS_NAMES]
        plan = plan_of(glass, live)
        if not opened or not (plan.steps or plan.taken):
            return opened, ""
        taken = sorted(BREAK_GLASS_NAMES.intersection(look.taken.get("", ())))
        why = [*look.unopened]
        if taken:
            why.append(f"policies of others have the names {', '.join(taken)}: rename them")
        named = ", ".join(each.name for each in opened)
        return (
            (),
            f"BreakGlass {named} does not open all that it says: {'; '.join(why) or _UNWRITTEN}",
        )

    async def _hold(self, leadership: Leadership, intent: Intent) -> None:
        """Keep an allowlist from going before its policies."""
        there = self.state.intents.get(intent.namespace, {}).get(intent.name, intent)
        if not there.deleting and names.EGRESS_FINALIZER not in there.finalizers:
            await self.writer.add_finalizer(leadership, intent)
            self.state.finalized(intent, names.EGRESS_FINALIZER)

    async def _hold_all(self, leadership: Leadership, look: _NamespaceLook) -> None:
        """Hold those again that were let go (`sallyport egress release`) and have policies."""
        for name in self.state.opened(look.namespace) & look.intents.keys():
            try:
                await self._hold(leadership, look.intents[name])
            except ClusterError as error:
                look.fail(name, str(error))
        look.intents = self.state.intents_of(look.namespace)

    async def _close(self, leadership: Leadership, look: _NamespaceLook) -> None:
        """Let allowlists go that are being deleted, and have no policies any more."""
        held = self.state.opened(look.namespace)
        for intent in look.intents.values():
            ends = intent.deleting and names.EGRESS_FINALIZER in intent.finalizers
            if ends and intent.name not in held:
                try:
                    await self.writer.remove_finalizer(leadership, intent)
                except ClusterError as error:
                    look.fail(intent.name, str(error))

    async def _evict(self, leadership: Leadership, look: _NamespaceLook, now: float) -> None:
        for name, intent in look.intents.items():
            if intent.allowlist is None or now < intent.allowlist.expires:
                continue
            done = intent.status.condition(telling.EVICTED)
            if look.closure.closes and eviction.is_due(intent, now):
                closed = look.closure.selects
                try:
                    done = await self.evictions.run(
                        leadership, intent, intent.allowlist, now, closed
                    )
                except ClusterError as error:
                    look.fail(name, str(error))
            if done is not None:
                look.evicted[name] = done

    async def _tell(
        self, leadership: Leadership, look: _NamespaceLook, now: float
    ) -> Mapping[str, int]:
        """Write the statuses that changed; give how many allowlists have each reason."""
        openings = telling.openings_of(look.wanted.open)
        opened, unopened = self._opening(look)
        self._open[look.namespace] = opened
        states: Counter[str] = Counter()
        for name, intent in look.intents.items():
            approval = look.wanted.approvals.get(intent.uid, Approval())
            notes = (*look.wanted.notes, *filter(None, (approval.note,)))
            situation = AllowlistSituation(
                look.closure,
                openings.get(name, ()),
                tuple(each for each in look.wanted.problems if each.allowlist == name),
                approval.broad,
                tuple(look.failures.get(name, ())),
                tuple(look.taken.get(name, ())),
                notes if name in openings else (),
                look.evicted.get(name),
                opened,
                unopened,
            )
            status = telling.status_of(intent, situation, now)
            ready = status.condition(telling.READY)
            states[ready.reason if ready else ""] += 1
            quiet = intent.deleting and name not in look.failures
            if status != intent.status and not quiet:
                await self._say(leadership, look, (intent, status), now)
        return states

    async def _foreign(self, leadership: Leadership, look: _NamespaceLook, now: float) -> int:
        """Tell which policies of others open more than allowlists say; give how many stay."""
        live = self._live(look.namespace) if look.closure.is_whole else ()
        closing = self._live(look.namespace) if look.closure.closes else ()
        found: dict[str, tuple[LivePolicy, str]] = {}
        async for policy, more in foreign_policies.find_wider_policies(live, look.wanted.policies):
            if self.deletes and more is not foreign_policies.UNCOMPARED:
                await self._take_away(leadership, look, policy, more, now)
            else:
                found[policy.uid] = (policy, more)
        for policy, more in foreign_policies.find_obstructing_policies(
            closing, look.wanted.policies
        ):
            found[policy.uid] = (policy, more)
        told = self._told.pop(look.namespace, {})
        for uid, (policy, more) in found.items():
            if told.get(uid) != more:
                await self.writer.tell(
                    leadership, foreign_policies.foreign_policy_event(policy, more, now)
                )
        if found:
            self._told[look.namespace] = {uid: more for uid, (_, more) in found.items()}
        return len(found)

    async def _take_away(
        self,
        leadership: Leadership,
        look: _NamespaceLook,
        policy: LivePolicy,
        more: str,
        now: float,
    ) -> None:
        """Delete a policy of somebody else's, or take its egress away where it closes the way in.

        What it opens that is wanted stays open without it.
        """
        said = foreign_policies.foreign_policy_event(policy, more, now, deleted=True)
        await self.writer.tell(leadership, said)
        try:
            if foreign_policies.is_of_egress_alone(policy):
                await self.writer.do(leadership, Delete(policy))
            else:
                await self.writer.take_egress(leadership, policy)
        except ClusterError as error:
            look.fail("", str(error))
        else:
            look.writes += 1

    async def _say(
        self,
        leadership: Leadership,
        look: _NamespaceLook,
        what: tuple[Intent, IntentStatus],
        now: float,
    ) -> None:
        intent, status = what
        try:
            await self.writer.set_status(leadership, intent, status)
        except ClusterError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                look.fail(intent.name, str(error))
            return
        self.state.said(intent, status)
        for each in telling.status_changes(intent.status, status):
            await self.writer.tell(leadership, telling.allowlist_event(intent, each, now))


def _name_of(policy: Json) -> str:
    return str(policy["metadata"]["name"])


def _said_by(policy: Json) -> str:
    """Return the allowlist that a policy says; empty where it says none."""
    annotations = policy["metadata"].get("annotations") or {}
    return str(annotations.get(names.ALLOWLIST_ANNOTATION, ""))


@dataclass
class ClusterPolicies:
    """Keeps them; where they are not wanted, it takes away what is left of them."""

    state: EgressState
    wanting: DesiredStates
    writer: PolicyWriter
    make: Callable[[], tuple[Json, ...]]
    """Gives the floor; nothing where it is not wanted."""

    async def run(self, leadership: Leadership) -> NamespaceOutcome:
        """Look at them once, and write what differs.

        Raises:
            ClusterError: kube-apiserver does not answer.
            NotLeaderError: leadership was lost.
        """
        floor = self.make()
        beyond = sorted(self.wanting.beyond.items())
        wanted = [*floor, *(each for _, some in beyond for each in some)] if floor else []
        live = tuple(self.state.policies.get(CLUSTER, {}).values())
        plan = plan_of(wanted, live)
        taken = [each.name for each in plan.taken]
        failures: list[str] = []
        for step in plan.steps:
            try:
                written = await self.writer.do(leadership, step)
            except NameTakenError as error:
                taken.append(str(error))
            except ClusterError as error:
                if not error.status:
                    raise
                failures.append(str(error))
            else:
                if written is not None:
                    self.state.wrote(written)
                elif not isinstance(step, Apply):
                    self.state.deleted(step.live)
        return NamespaceOutcome(
            taken=tuple(taken), writes=len(plan.steps), failures=tuple(failures)
        )
