"""What becomes of a recorded request under another bundle, and how that differs. Pure.

Profiles, rights, exceptions, the risk of identities, egress and weights stay as they were recorded:
only the bundles differ.
"""

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from admission.model.candidates import Candidate, candidates
from admission.replay.evaluation import BundleAnswer
from core.base import names
from core.decision.decision import Action, Finding, Verdict
from core.decision.document import DecisionDocument
from core.decision.namespaces import Mode, Namespace
from core.profiles.container_profiles import ProfileSet
from core.sandbox.decision import SandboxMode

_PROFILES: Final = ("privileges/", "profiles/")
_RULES: Final = "rules/"


class ReplayEnd(enum.IntEnum):
    """What becomes of a request."""

    ADMITTED = 0
    WARNED = 1
    REFUSED = 2


class UnknownReason(enum.StrEnum):
    """Why nobody can say it."""

    NOT_JUDGED = "it could not be judged when it was asked for"
    FAILED = "the policies fail on it"
    CUT = "the record does not hold all that it needs"
    PROFILES = "what it needs differs, and a profile of then is not known: give --cluster or \
--kubeconfig"
    RIGHTS = "what it needs differs, and whether its subjects may use a profile that covers it \
was not asked then"
    EXCUSED = "an exception was used then, and what it excused of a rule is not known"
    PARTIAL = "what it needs differs from what another bundle found in a template then"


class ReplayOutcome(msgspec.Struct, frozen=True, gc=False):
    """What becomes of a request under one bundle."""

    end: ReplayEnd
    refusing: frozenset[str] = frozenset()
    """Rules that refuse it, or would where the namespace enforced."""
    warning: frozenset[str] = frozenset()
    """Rules that only warn."""
    sandboxed: bool = False
    """Whether its score demands a sandbox."""

    @property
    def would_refuse(self) -> bool:
        """Whether it would be refused where every namespace enforced."""
        return bool(self.refusing)


@dataclass(frozen=True)
class ReplayBase:
    """What replay knows beside the record."""

    profiles: ProfileSet
    """Of a cluster, or those that are shipped."""
    revision: str
    """Of the bundle that `reference` is of."""


def replay_decision(
    document: DecisionDocument, said: BundleAnswer, reference: BundleAnswer, base: ReplayBase
) -> ReplayOutcome | UnknownReason:
    """Return what becomes of a request; `reference` is what the base bundle says of it."""
    if document.verdict is Verdict.ERROR or document.error_kind:
        return UnknownReason.NOT_JUDGED
    if said.error or reference.error:
        return UnknownReason.FAILED
    decided = _Decided(document, reference, base)
    if decided.may_excuse(said):
        return UnknownReason.EXCUSED
    refusing, warning = decided.kept(said)
    refusing |= {rule for rule in said.site_denied if rule not in decided.excused}
    refusing |= said.denied - decided.excused_built_in
    warning |= said.site_warned
    lacks = decided.lacks(said)
    if isinstance(lacks, UnknownReason):
        return lacks
    refusing |= lacks
    return ReplayOutcome(
        decided.end(refusing, warning),
        frozenset(refusing),
        frozenset(warning),
        decided.sandboxed(said),
    )


class _Decided:
    """One recorded decision."""

    def __init__(
        self, document: DecisionDocument, reference: BundleAnswer, base: ReplayBase
    ) -> None:
        self._document = document
        self._reference = reference
        self._base = base
        self._same_bundle = base.revision == document.revisions.policy
        self._enforces = document.mode == Mode.ENFORCE.value
        self._found = {finding.rule for finding in document.findings}

    @property
    def excused(self) -> frozenset[str]:
        """The site's rules that an exception excused then."""
        return self._excused(self._reference.site_denied)

    @property
    def excused_built_in(self) -> frozenset[str]:
        """The built-in rules that deny and that an exception excused then."""
        return self._excused(self._reference.denied)

    def _excused(self, denied: frozenset[str]) -> frozenset[str]:
        whole = not self._document.more_findings
        if not (self._document.exceptions and self._same_bundle and whole):
            return frozenset()
        return denied - self._found

    def may_excuse(self, said: BundleAnswer) -> bool:
        """Return whether an exception may have excused what is denied, and nobody knows it."""
        unseen = (said.site_denied | said.denied) - self._found
        return bool(self._document.exceptions and unseen and not self._same_bundle)

    def kept(self, said: BundleAnswer) -> tuple[set[str], set[str]]:
        """Return the rules of what no bundle changes: those that refuse, those that warn."""
        left_out = () if self._as_recorded(said) else _PROFILES
        kept = [
            finding
            for finding in self._document.findings
            if not finding.rule.startswith((_RULES, *left_out))
        ]
        refusing = {finding.rule for finding in kept if self._refuses(finding)}
        return refusing, {finding.rule for finding in kept} - refusing

    def _refuses(self, finding: Finding) -> bool:
        """Return whether a finding refuses, or would.

        Where nothing is enforced all of them warn.
        """
        if self._enforces or finding.action is Action.DENY:
            return finding.action is Action.DENY
        if self._document.if_enforced != "refused":
            return False
        return not (finding.privilege is not None and self._document.profile)

    def _needs(self, said: BundleAnswer) -> Mapping[str, tuple[int, str]]:
        """Return what counts of what it needs: what a template leaves open did not count then."""
        if not self._same_bundle:
            return said.needs
        recorded = {need.privilege for need in self._document.needs}
        left_open = self._reference.needs.keys() - recorded
        return {name: one for name, one in said.needs.items() if name not in left_open}

    def _as_recorded(self, said: BundleAnswer) -> bool:
        if self._same_bundle and said.needs == self._reference.needs:
            return True
        recorded = {need.privilege for need in self._document.needs}
        return not self._document.more_needs and self._needs(said).keys() == recorded

    def lacks(self, said: BundleAnswer) -> frozenset[str] | UnknownReason:
        """Return the rules of what no profile covers; none where it is as recorded, or one does."""
        document = self._document
        if self._as_recorded(said):
            return frozenset()
        cut = any(need.privilege.endswith("…") for need in document.needs)
        if document.more_needs or document.more_access_reviews or cut:
            return UnknownReason.CUT
        if not self._same_bundle and document.request.kind != "Pod":
            return UnknownReason.PARTIAL
        return self._by_profiles(self._needs(said))

    def _by_profiles(self, needs: Mapping[str, tuple[int, str]]) -> frozenset[str] | UnknownReason:
        document, profiles = self._document, self._base.profiles
        known = profiles.by_name
        if {tried.profile for tried in document.tried} - known.keys():
            return UnknownReason.PROFILES
        ceiling = document.ceiling
        marks = {} if ceiling is None else {names.CEILING_ANNOTATION: ",".join(ceiling)}
        namespace = Namespace(document.request.namespace, annotations=marks)
        found = candidates(profiles, namespace, {name: one[0] for name, one in needs.items()})
        if document.named is not None:
            found = found.only(document.named.profile)
        unasked = False
        for each in found.covering():
            answer = self._usable(each.name)
            if answer:
                return frozenset()
            unasked = unasked or answer is None
        near = list(found.nearest)
        if document.profile in known and document.exceptions and self._covered(near):
            return frozenset()
        if unasked:
            return UnknownReason.RIGHTS
        own = next((each for each in near if self._usable(each.name)), None)
        return frozenset(needs[gap][1] for gap in (own.gaps if own else needs))

    def _covered(self, near: Collection[Candidate]) -> bool:
        """Return whether its profile lacks no more than what an exception excused then."""
        document = self._document
        recorded = {need.privilege: 1 for need in document.needs}
        before = candidates(self._base.profiles, None, recorded)
        own = before.only(document.profile or "").first()
        now = next((each for each in near if each.name == document.profile), None)
        return own is not None and now is not None and now.gaps <= own.gaps

    def _usable(self, profile: str) -> bool | None:
        """Return whether all subjects might use a profile then; None where that was not asked."""
        document = self._document
        if profile == document.profile and document.allowed and document.mode == Mode.ENFORCE.value:
            return True
        answers = [each.allowed for each in document.access_reviews if each.profile == profile]
        if not all(answers):
            return False
        whole = len(answers) >= max(len(document.subjects), 1)
        return True if whole else None

    def end(self, refusing: set[str], warning: set[str]) -> ReplayEnd:
        """Return what becomes of it.

        Where nothing is enforced, and in an emergency, it is let in.
        """
        document = self._document
        held = not self._enforces and not document.allowed
        if refusing and (self._enforces or held) and not document.break_glass:
            return ReplayEnd.REFUSED
        return ReplayEnd.WARNED if refusing or warning else ReplayEnd.ADMITTED

    def sandboxed(self, said: BundleAnswer) -> bool:
        """Return whether its score demands a sandbox: what it was, and what the signals change."""
        was = self._document.isolation
        if was is None or was.excused:
            return False
        if was.mode != SandboxMode.BY_RISK.value:
            return self._document.sandbox is not None
        if said.score is None or self._reference.score is None:
            return was.score >= was.threshold
        return was.score + said.score - self._reference.score >= was.threshold


class Effect(enum.StrEnum):
    """What putting a bundle in force would change for a request."""

    NEWLY_REFUSED = "newlyRefused"
    NEWLY_ADMITTED = "newlyAdmitted"
    """It was refused."""
    WOULD_REFUSE = "wouldRefuse"
    """It would newly be refused if its namespace enforced; it is warned of or recorded now."""
    NEWLY_WARNED = "newlyWarned"
    NO_LONGER_WARNED = "noLongerWarned"
    NEWLY_SANDBOXED = "newlySandboxed"
    """Its score would reach the threshold."""
    NO_LONGER_SANDBOXED = "noLongerSandboxed"
    FAILED = "failed"
    """The candidate's policies fail on it, which refuses it as an error; the base's do not."""


def compare_outcomes(base: ReplayOutcome, candidate: ReplayOutcome) -> dict[Effect, frozenset[str]]:
    """Return the effects, each with the rules that make it; of the sandbox no rules are named."""
    found: dict[Effect, frozenset[str]] = {}
    was, becomes = base.end is ReplayEnd.REFUSED, candidate.end is ReplayEnd.REFUSED
    if becomes and not was:
        found[Effect.NEWLY_REFUSED] = candidate.refusing - base.refusing or candidate.refusing
    elif was and not becomes:
        found[Effect.NEWLY_ADMITTED] = base.refusing - candidate.refusing or base.refusing
    elif not was:
        found |= _milder(base, candidate)
    if candidate.sandboxed != base.sandboxed:
        effect = Effect.NEWLY_SANDBOXED if candidate.sandboxed else Effect.NO_LONGER_SANDBOXED
        found[effect] = frozenset()
    return found


def _milder(base: ReplayOutcome, candidate: ReplayOutcome) -> dict[Effect, frozenset[str]]:
    """Return the effects on what is refused by neither."""
    found: dict[Effect, frozenset[str]] = {}
    if candidate.refusing and not base.refusing:
        found[Effect.WOULD_REFUSE] = candidate.refusing
    before, after = (each.warning | each.refusing for each in (base, candidate))
    if new := after - before - found.get(Effect.WOULD_REFUSE, frozenset()):
        found[Effect.NEWLY_WARNED] = new
    if gone := before - after:
        found[Effect.NO_LONGER_WARNED] = gone
    return found
