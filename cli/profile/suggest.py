"""`sallyport profile suggest`: the least profile that covers what runs, or what files need.

It is written as YAML, with the evidence beside each privilege.
"""

import sys
from collections.abc import AsyncIterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from admission.fields.check import is_of_field
from admission.judge import Judge
from admission.profiles.check import is_denial
from app.settings.root import Settings
from cli import exits
from cli.profile.pods import NOTHING_JUDGED, FoundPod, SkippedObject, find_pods, is_file
from cli.profile.profile_yaml import profile_yaml
from cli.session import tell_progress
from cli.shared.defaults_preview import fills_asked
from cli.shared.judge import BUDGET, open_judge
from cli.shared.results import Fill, Result, describe_fill
from core.base import names
from core.base.errors import SettingsError
from core.base.safe_text import safe_line
from core.decision.decision import Action, Finding, Verdict
from core.decision.namespaces import Mode
from core.profiles.container_profiles import (
    CATALOGUE,
    MAX_DESCRIPTION,
    MAX_NAME,
    MAX_PATTERN,
    MAX_PATTERNS,
    ProfileSet,
    is_profile_name,
    parse_profile,
)
from core.profiles.suggestion import (
    ExaminedObject,
    SuggestedLine,
    fold_lines,
    suggest_privileges,
)

SUGGESTED_RANK: Final = 500

_SHOWN: Final = 5
_MOST_FIELDS: Final = 8


class UncoverableObject(msgspec.Struct, frozen=True):
    """Something that no profile can cover."""

    object: str
    path: str
    rule: str
    message: str
    remedy: str


class NearProfile(msgspec.Struct, frozen=True):
    """A profile that is there, and what it lacks."""

    profile: str
    lacks: list[str]


class FilledUnder(msgspec.Struct, frozen=True):
    """A profile that covers all, and what its defaults would fill in."""

    profile: str
    fields: list[Fill]
    """Each once: in another container it is another field."""


class Suggestion(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What `-o json` prints."""

    profile: dict[str, Any]
    """The ContainerProfile."""
    lines: list[SuggestedLine]
    """Its privileges, with their evidence."""
    examined: int
    """Pods, templates and other objects."""
    covered_by: list[str]
    """Profiles that cover all of it already, but for those that cover everything."""
    nearest: list[NearProfile]
    defaults: list[FilledUnder]
    """What those that cover it fill in of what was examined; the suggested one fills in nothing."""
    denied: list[UncoverableObject]
    not_judged: list[str]
    passed_over: list[str]
    """Objects of which nobody knows what Pods they make."""
    warned: list[UncoverableObject] = []
    """Fields that no rule has judged (`field/unknown`): a profile says nothing of them."""
    notes: list[str] = []
    """What nobody could know of an object."""

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        if self.not_judged:
            return exits.NOT_JUDGED
        return exits.REFUSED if self.denied else 0


async def suggest_profile(
    settings: Settings, targets: list[str], name: str | None, *, generalise: bool
) -> Suggestion:
    """Examine files and namespaces, and suggest a profile for what was found.

    Raises:
        SettingsError: nothing was found, the name is none, or a profile cannot hold it all.
        ClusterError, CannotJudgeError: the cluster does not answer.
    """
    where = ", ".join(targets)
    async with open_judge(settings) as judge:
        found = find_pods(settings, targets)
        return await suggest_for(judge, found, name or _name(targets), where, generalise=generalise)


async def suggest_for(
    judge: Judge,
    objects: AsyncIterable[FoundPod | SkippedObject | Result],
    name: str,
    where: str,
    *,
    generalise: bool,
) -> Suggestion:
    """Suggest a profile of this name for objects; `where` they were found is for people.

    Raises:
        SettingsError: there are none, the name is none, or a profile cannot hold it all.
    """
    examination = _Examination()
    async for found in objects:
        await examination.take(judge, found)
    if not examination.count and not examination.not_judged:
        for line in examination.passed_over:
            sys.stderr.write(f"{safe_line(line)}\n")
        raise SettingsError(f"{where}: {NOTHING_JUDGED}")
    exact = suggest_privileges(examination.examined)
    lines = [line for line in exact if len(line.privilege) <= MAX_PATTERN]
    lines = fold_lines(lines) if generalise else lines
    profiles = judge.gatherer.cluster.profiles()
    covered_by, nearest = _compare(profiles, [line.privilege for line in exact])
    return Suggestion(
        profile=_profile(lines, name, where),
        lines=lines,
        examined=examination.count,
        covered_by=covered_by,
        nearest=nearest,
        defaults=list(_filled(profiles, covered_by, examination.found)),
        denied=examination.denied + list(_too_long(exact)),
        not_judged=examination.not_judged,
        passed_over=examination.passed_over,
        warned=examination.warned,
        notes=list(dict.fromkeys(examination.notes)),
    )


class _Examination:
    """What was found so far."""

    def __init__(self) -> None:
        self.examined: list[ExaminedObject] = []
        self.found: list[FoundPod] = []
        self.denied: list[UncoverableObject] = []
        self.warned: list[UncoverableObject] = []
        self.notes: list[str] = []
        self.not_judged: list[str] = []
        self.passed_over: list[str] = []
        self.count = 0

    async def take(self, judge: Judge, found: FoundPod | SkippedObject | Result) -> None:
        """Examine one object; a Result is one that could not be read."""
        if isinstance(found, Result):
            self.not_judged.append(found.element.findings[0].message)
            return
        if isinstance(found, SkippedObject):
            self.passed_over.append(str(found))
            return
        self.count += 1
        tell_progress(self.count, "examined")
        decision = await judge.examine(found.request, Mode.ENFORCE, budget=BUDGET)
        if decision.verdict is Verdict.ERROR:
            self.not_judged.append(f"{found.object}: {decision.reason}")
            return
        self.found.append(found)
        self.examined.append(ExaminedObject(found.object, found.prefix, decision.evidence.needs))
        self.notes += (f"{found.object}: {note}." for note in found.notes(judge.gatherer.cluster))
        for finding in decision.findings:
            if is_denial(finding) or is_of_field(finding):
                is_denied = finding.action is Action.DENY
                (self.denied if is_denied else self.warned).append(_uncoverable(found, finding))


def _uncoverable(found: FoundPod, finding: Finding) -> UncoverableObject:
    path = ".".join(part for part in (found.prefix, finding.path) if part)
    return UncoverableObject(found.object, path, finding.rule, finding.message, finding.remedy)


def _filled(
    profiles: ProfileSet, names_of: Sequence[str], found: Sequence[FoundPod]
) -> Iterator[FilledUnder]:
    for name in names_of:
        fields = {
            msgspec.json.encode(fill): fill
            for each in found
            for fill in fills_asked(profiles, name, each.request, each.prefix)
        }
        if fields:
            yield FilledUnder(name, list(fields.values()))


def _too_long(lines: Sequence[SuggestedLine]) -> Iterator[UncoverableObject]:
    message = f"needs a privilege of more than {MAX_PATTERN} characters: no profile spells it"
    for line in lines:
        if len(line.privilege) > MAX_PATTERN:
            for place in line.places:
                yield UncoverableObject(
                    place.object, place.path, "profile/length", message, "Shorten the value."
                )


def _name(targets: Sequence[str]) -> str:
    return targets[0] if len(targets) == 1 and not is_file(targets[0]) else "suggested"


def _profile(lines: Sequence[SuggestedLine], name: str, where: str) -> dict[str, Any]:
    if len(lines) > MAX_PATTERNS:
        message = (
            f"it takes {len(lines)} privileges, and a profile holds {MAX_PATTERNS}: "
            "give --generalise, or suggest a profile for each of the workloads"
        )
        raise SettingsError(message)
    profile = {
        "apiVersion": names.API_VERSION,
        "kind": "ContainerProfile",
        "metadata": {"name": name},
        "spec": {
            "description": f"Suggested from what was found in {safe_line(where)}."[
                :MAX_DESCRIPTION
            ],
            "rank": SUGGESTED_RANK,
            "catalogue": CATALOGUE,
            "privileges": [line.privilege for line in lines],
        },
    }
    _check_name(name)
    parse_profile(msgspec.json.encode(profile))
    return profile


def _check_name(name: str) -> None:
    if not is_profile_name(name):
        message = f"--name {name}: must be lower-case letters, digits, - and ., at most {MAX_NAME}"
        raise SettingsError(message)


def _compare(
    profiles: ProfileSet, privileges: Sequence[str]
) -> tuple[list[str], list[NearProfile]]:
    """Return the profiles that cover all, and up to five others by what they lack.

    One that covers everything is no advice.
    """
    misses = [
        NearProfile(profile.name, [p for p in privileges if not profile.covers(p)])
        for profile in profiles.ordered
        if "**" not in set(profile.patterns)
    ]
    covered_by = [miss.profile for miss in misses if not miss.lacks]
    others = sorted((miss for miss in misses if miss.lacks), key=lambda miss: len(miss.lacks))
    return covered_by, others[:_SHOWN]


def print_suggestion(suggestion: Suggestion) -> None:
    """Print the profile on standard output."""
    sys.stdout.write(profile_yaml(suggestion.profile, suggestion.lines))


def print_advice(suggestion: Suggestion) -> None:
    """Say on standard error what a person should know beside the profile."""
    for line in _advice(suggestion):
        sys.stderr.write(f"{safe_line(line)}\n")


def _advice(suggestion: Suggestion) -> list[str]:
    lines: list[str] = []
    objects, count = suggestion.examined, len(suggestion.lines)
    lines.append(
        f"{objects} object{'s' * (objects != 1)} examined; "
        f"{count} line{'s' * (count != 1)} for what is needed."
    )
    if suggestion.covered_by:
        covered = ", ".join(suggestion.covered_by[:_SHOWN])
        lines.append(f"Covered already by: {covered}. Then no new profile is needed.")
        for filled in suggestion.defaults[:_SHOWN]:
            lines.append(f"{filled.profile} fills in, when Pods are created:")
            lines += map(describe_fill, filled.fields[:_MOST_FIELDS])
            more = len(filled.fields) - _MOST_FIELDS
            lines += [f"  and {more} more fields (-o json has them)"] if more > 0 else []
    elif suggestion.nearest:
        near = suggestion.nearest[0]
        lacks = ", ".join(near.lacks[:_SHOWN])
        more = len(near.lacks) - _SHOWN
        lacks += f" and {more} more" if more > 0 else ""
        lines.append(f"No profile covers it. The nearest, {near.profile}, lacks {lacks}.")
    folded = [line for line in suggestion.lines if line.folds]
    lines += [
        f"{line.privilege} stands for {len(line.folds)} privileges, and covers others too."
        for line in folded
    ]
    for denied in suggestion.denied:
        what = f"{denied.object}: {denied.path}: {denied.message}"
        lines.append(f"No profile can cover this. {what}. {denied.remedy} ({denied.rule})")
    for warned in suggestion.warned:
        what = f"{warned.object}: {warned.path}: {warned.message}"
        lines.append(f"No rule has judged this. {what}. {warned.remedy} ({warned.rule})")
    lines += suggestion.notes
    lines += [f"Not judged, so not covered: {each}" for each in suggestion.not_judged]
    lines += suggestion.passed_over
    return lines
