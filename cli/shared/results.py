"""What became of each object that was judged: for programs, and for people the rest with it."""

import enum
from dataclasses import dataclass
from typing import Any

import msgspec
from rich.text import Text

from admission.sandbox.messages import why_with_signals
from cli.output import COLOURS, WORDS, name_object
from core.decision.decision import Action, Decision, Finding, Verdict

SKIPPED = "skipped"
"""The word for what was not judged; programs read `allow`."""


class Unjudged(enum.StrEnum):
    """Why an object was not judged, and what to do about it."""

    KIND = "not of a kind that is judged"
    SUBMITTER = "say who submits it: --as USER, or --profile NAME"
    MARKS = "--as USER, without --profile, says who would change their marks"
    UNKNOWN = "of an unknown kind: review its CustomResourceDefinition with it, or --cluster has it"
    TEMPLATE = (
        "of an unknown kind, and holds what looks like a Pod template: "
        "review its CustomResourceDefinition with it, or --cluster has it"
    )
    HIDDEN = "of a kind whose definition does not say all its fields: it may carry Pods"


class Fill(msgspec.Struct, frozen=True):
    """A field that a profile's defaults would set in a Pod."""

    path: str
    """From the root of the object; what ends in `[]` is a new element of that list."""
    value: Any


class Reviewed(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """One element of `sallyport review -o json` (docs/reference/review-json.md)."""

    file: str
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    verdict: Verdict = Verdict.ALLOW
    profile: str | None = None
    sandbox: str | None = None
    findings: list[Finding] = []
    defaults: list[Fill] = []
    """What the gate would fill in, in Pods, from the defaults of `profile`."""
    notes: list[str] = []
    """What this review could not know of the object."""


@dataclass(frozen=True)
class Change:
    """How an object differs from what it was, as `--diff` compares them."""

    new: bool
    """There was no such object."""
    gained: tuple[str, ...] = ()
    """Privileges that it needs and did not need."""
    lost: tuple[str, ...] = ()
    """Privileges that it needed and does not need."""


@dataclass(frozen=True)
class Result:
    """What became of one object: for programs `element`, for people the rest with it."""

    element: Reviewed
    unjudged: Unjudged | None = None
    """Why it was not judged, if it was not."""
    message: str = ""
    """What the gate says to the person who asked; empty when it has nothing to say."""
    place: str = ""
    """Which part of the file it is, where no object could be read."""
    file: str = ""
    """The file as it was given, which may be no Unicode."""
    part: str = ""
    """Where in the file, as messages say it: `#2:items[3]`, or `, line 3`."""
    needs: frozenset[str] = frozenset()
    """The privileges that the object needs."""
    why_sandboxed: str = ""
    """Why its Pods must run in a sandbox, if they must."""
    change: Change | None = None
    """With `--diff`; `element` has only the findings that are new then."""

    @property
    def verdict(self) -> Verdict:
        """The object's verdict; with `--diff`, what the new findings alone make of it."""
        if self.change is None or self.element.verdict is Verdict.ERROR:
            return self.element.verdict
        actions = {finding.action for finding in self.element.findings}
        if Action.DENY in actions:
            return Verdict.DENY
        return Verdict.WARN if actions else Verdict.ALLOW


def of_decision(reviewed: Reviewed, decision: Decision) -> Result:
    """Return the result with what was decided of its object."""
    element = msgspec.structs.replace(
        reviewed,
        verdict=decision.verdict,
        profile=decision.profile,
        sandbox=(decision.sandbox.runtime or None) if decision.sandbox else None,
        findings=findings_of(decision),
    )
    needs = frozenset(need.privilege for need in decision.evidence.needs)
    sandbox = decision.sandbox
    why = why_with_signals(sandbox) if sandbox and sandbox.runtime else ""
    return Result(element, message=decision.message, needs=needs, why_sandboxed=why)


def findings_of(decision: Decision) -> list[Finding]:
    """Return what was found; of an error, why nobody could judge."""
    if decision.verdict is not Verdict.ERROR:
        return decision.findings
    rule = f"error/{decision.error_kind}"
    remedy = "Mend the object, or what it is judged with, and review it again."
    return [Finding(rule, Action.DENY, decision.field, decision.reason, remedy)]


def describe_fill(fill: Fill) -> str:
    """Return a field that would be filled in, as a line for people."""
    return f"  {fill.path}: {msgspec.json.encode(fill.value).decode()}"


def verdict_word(result: Result, verdict: Verdict) -> Text:
    """Return a result's verdict as people read it, in its colour."""
    if result.unjudged:
        return Text(SKIPPED, style="dim")
    return Text(WORDS[verdict], style=COLOURS[verdict])


def name_result(element: Reviewed, place: str = "") -> str:
    """Name the object of an element for people; `place` where none could be read."""
    return name_object(element.kind, element.namespace, element.name) if element.kind else place
