"""BreakGlasses: sealed beforehand by two people, opened once, for some hours, loudly."""

import re
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec

from core.base import names
from core.base.errors import InvalidObjectError
from core.base.sallyport_objects import Metadata, convert_spec, parse_time, read_object
from core.base.times import time_text
from core.kubernetes.names import KIND as WORKLOAD_KIND
from core.kubernetes.names import LABEL, is_subdomain
from core.people.two_person import Approvable, approvable_of
from core.profiles.privileges import covers, validate_pattern
from core.sandbox.decision import ENTERED

KIND: Final = "BreakGlass"

MOST_HOURS: Final = 24

EVERYTHING: Final = "*"
"""The one rule that stands for all that can be relaxed of what is judged: not for egress."""

_HOUR_S: Final = 3600
_ACTIVATED: Final = "activated"
_OPTIONAL: Final = frozenset({"rules", "privileges", "egress", _ACTIVATED})
_RULE: Final = re.compile(r"(privileges|rules)(/[a-z0-9_]+)+|identity/(risk|stale)")

_NAMED: Final = ("privileges/", "rules/", "identity/")
"""What a rule that is named can be."""
_ALL: Final = (*_NAMED, "profiles/", "weights/")
_OF_ROOTS: Final = frozenset({"notes/root", "notes/unnoted"})
"""What is said of the workload that a Pod comes from; other notes are the gate's own record."""

ROOT_NOTE_RULE: Final = "notes/root"

_BESIDES: Final = _OF_ROOTS | {ENTERED}
"""Entering ends with the connection; what runs without its sandbox would stay."""


class EgressRelaxation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`spec.egress`: Pods of the namespaces connect everywhere while it is open."""

    workloads: (
        Annotated[
            list[Annotated[str, msgspec.Meta(max_length=317)]],
            msgspec.Meta(min_length=1, max_length=64),
        ]
        | None
    ) = None
    """Only those of these workloads, `Job/fetch`; None for all Pods."""


class BreakGlassSpec(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`spec` of a BreakGlass; the CRD says what each field means."""

    namespaces: Annotated[
        list[Annotated[str, msgspec.Meta(max_length=63)]],
        msgspec.Meta(min_length=1, max_length=64),
    ]
    hours: Annotated[int, msgspec.Meta(ge=1, le=MOST_HOURS)]
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]
    rules: (
        Annotated[
            list[Annotated[str, msgspec.Meta(max_length=253)]],
            msgspec.Meta(min_length=1, max_length=32),
        ]
        | None
    ) = None
    privileges: (
        Annotated[
            list[Annotated[str, msgspec.Meta(max_length=1024)]],
            msgspec.Meta(min_length=1, max_length=32),
        ]
        | None
    ) = None
    egress: EgressRelaxation | None = None
    """Not among what the one rule `*` stands for: what was approved before must not grow."""
    activated: bool = False
    """Outside of what is approved: whoever opens it changes nothing else."""


class BreakGlass(msgspec.Struct, frozen=True):
    """A BreakGlass as it is stored, checked."""

    meta: Metadata
    spec: BreakGlassSpec
    began: float | None
    """Unix seconds of its activation; None while it is sealed, or where nobody recorded it."""
    approvable: Approvable

    @property
    def id(self) -> str:
        """Name it as decisions do: `name@uid`."""
        return f"{self.meta.name}@{self.meta.uid}"

    @property
    def ends(self) -> float:
        """Unix seconds: from then on it relaxes nothing; 0 while it is sealed."""
        return self.began + self.spec.hours * _HOUR_S if self.began is not None else 0.0

    @property
    def until(self) -> str:
        """The same for a person."""
        return time_text(self.ends)

    def is_open(self, now: float) -> bool:
        """Return whether it was activated, and has neither ended nor is being deleted."""
        begun = self.began is not None and self.began <= now < self.ends
        return begun and self.meta.deletion_timestamp is None

    def relaxes(self, rule: str, privileges: Sequence[str]) -> bool:
        """Return whether it relaxes a finding of a rule about these privileges.

        Never one of the guards of Sallyport's own objects, of namespaces' marks, or of the notes
        of who asked: what they let through would stay.
        """
        if EVERYTHING in (self.spec.rules or ()):
            return rule.startswith(_ALL) or rule in _BESIDES
        if rule.startswith(_NAMED) and rule in (self.spec.rules or ()):
            return True
        if not privileges or not (rule.startswith("privileges/") or rule == ROOT_NOTE_RULE):
            return False
        patterns = self.spec.privileges or ()
        return all(any(covers(each, one) for each in patterns) for one in privileges)


def parse_break_glass(raw: bytes | msgspec.Raw) -> BreakGlass:
    """Read a BreakGlass from its JSON.

    Raises:
        InvalidObjectError: with the field's path and what it must be. The CRD's schema and CEL
            rules refuse the same objects (a test proves it).
    """
    written = read_object(raw, KIND, apart=(_ACTIVATED,))
    spec = convert_spec(written, KIND, BreakGlassSpec, _OPTIONAL)
    meta = written.meta
    _check(spec, f"{KIND} {meta.name}")
    return BreakGlass(
        meta=meta,
        spec=spec,
        began=_began(spec, meta),
        approvable=approvable_of(written),
    )


def _began(spec: BreakGlassSpec, meta: Metadata) -> float | None:
    try:
        text = meta.annotation(names.ACTIVATED_AT_ANNOTATION)
        return parse_time(text, field="", what="") if spec.activated else None
    except InvalidObjectError:
        return None


def _check(spec: BreakGlassSpec, what: str) -> None:
    for index, name in enumerate(spec.namespaces):
        if not LABEL.fullmatch(name):
            message = f"{name!r} must be the whole name of one namespace"
            raise InvalidObjectError(what, f"spec.namespaces[{index}]", message)
    if not (spec.rules or spec.privileges or spec.egress):
        message = (
            'must name rules, privileges, egress, or several of them; the one rule "*" is for '
            "everything but egress"
        )
        raise InvalidObjectError(what, "spec", message)
    _check_workloads((spec.egress and spec.egress.workloads) or (), what)
    if EVERYTHING in (spec.rules or ()):
        if spec.rules != [EVERYTHING] or spec.privileges is not None:
            message = '"*" is for every rule: it stands alone, without other rules or privileges'
            raise InvalidObjectError(what, "spec.rules", message)
        return
    for index, rule in enumerate(spec.rules or ()):
        if not _RULE.fullmatch(rule):
            message = (
                f"{rule!r} must be such as privileges/host/network or rules/runtime/x, "
                "identity/risk or identity/stale"
            )
            raise InvalidObjectError(what, f"spec.rules[{index}]", message)
    for index, pattern in enumerate(spec.privileges or ()):
        validate_pattern(pattern, field=f"spec.privileges[{index}]", what=what)


def _check_workloads(workloads: Sequence[str], what: str) -> None:
    for index, workload in enumerate(workloads):
        kind, slash, name = workload.partition("/")
        if not (slash and WORKLOAD_KIND.fullmatch(kind) and is_subdomain(name)):
            message = f"{workload!r} must be KIND/NAME, such as Job/fetch"
            raise InvalidObjectError(what, f"spec.egress.workloads[{index}]", message)
