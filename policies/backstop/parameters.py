"""What the back-stop must know of a cluster, as the `data` of its Backstop. Pure.

CEL reads no JSON, so all of it is lines of text; the policy (`policies.backstop.policy`) says how.
What profiles, exceptions and BreakGlasses cover are expressions that CEL can match; segments that
hold a percent sign cannot be made in CEL, which writes `%` for each: an expression takes it for any
of them. Where something is too long, or not quite known, it says more than is true: the back-stop
refuses nothing that the gate admits.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from core.approvals.break_glass import EVERYTHING, BreakGlass
from core.approvals.exceptions import PolicyException
from core.base.short_text_cache import cache_short_text
from core.base.times import time_text
from core.decision.namespaces import Modes
from core.kubernetes.workload_kinds import GroupKind
from core.profiles.container_profiles import Profile, ProfileSet
from core.profiles.privileges import ONE, REST
from policies.backstop.policy import FORMAT
from policies.backstop.rules import COVERED, UNCLEAR

ROOT: Final = "%2F"
"""The root of the node, the one encoded segment that CEL writes."""

_LONGEST: Final = 200
_END: Final = "@"
"""Stands between a privilege and the container that needs it."""

CLOCKS_S: Final = 60.0
"""An exception or a BreakGlass counts so much longer than it does: clocks differ."""

MOST_OF_PROFILES: Final = 8000
"""Characters of all expressions: matching them is paid for by characters (`policy.py`)."""

MOST_OF_GLASS: Final = 2000
MOST_EXCUSES: Final = 1000
"""Lines of one namespace."""

MOST_BYTES: Final = 900 * 1024
"""Of all: etcd takes 1.5 MiB."""

_EVERYTHING: Final = "[^@]*"
_ALL_EXCUSED: Final = "*"
_POD: Final = ("v1", "Pod")


def expression(pattern: str) -> str:
    """Return the RE2 of one pattern, for a privilege up to the `@`.

    >>> expression("volume/hostPath:ro/var/log/**")
    'volume/hostPath:ro/var/log/[^@]+'
    """
    segments = pattern.split("/")
    written = [_segment(each) for each in segments if each != REST]
    return "/".join([*written, *(["[^@]+"] if segments[-1] == REST else [])])


def spellings(privilege: str) -> list[str]:
    """Return how CEL may write a privilege: its encoded segments stand as `%`."""
    segments = privilege.split("/")
    return sorted(
        {
            "/".join(UNCLEAR if _is_unclear(each) and each != kept else each for each in segments)
            for kept in ("", ROOT)
        }
    )


@cache_short_text(4096, longest=512)
def is_relevant(pattern: str) -> bool:
    """Return whether a pattern covers anything that the back-stop holds."""
    segments = pattern.split("/")
    return any(_meet(segments, held.split("/")) for each in COVERED for held in each.patterns)


def expressions(patterns: Iterable[str]) -> list[str]:
    """Return the patterns that matter, sorted, each once."""
    return sorted({expression(each) for each in patterns if is_relevant(each)})


def _segment(text: str) -> str:
    if text == ONE:
        return "[^/@]+"
    written = text.replace(".", "[.]")
    return f"(?:{UNCLEAR}|{written})" if _is_unclear(text) else written


def _is_unclear(text: str) -> bool:
    return "%" in text or len(text) > _LONGEST


def _meet(one: list[str], other: list[str]) -> bool:
    """Return whether some privilege is covered by both patterns."""
    if not one or not other:
        return not one and not other
    if REST in {one[0], other[0]}:
        return True
    same = one[0] == other[0] or ONE in {one[0], other[0]}
    return same and _meet(one[1:], other[1:])


class BackstopInputs(msgspec.Struct, frozen=True, kw_only=True):
    """What decides, all of one moment."""

    profiles: ProfileSet
    modes: Modes
    controllers: Mapping[str, frozenset[GroupKind]]
    exceptions: tuple[PolicyException, ...] = ()
    """Those that somebody has approved, be it one person."""
    break_glasses: tuple[BreakGlass, ...] = ()
    since: Mapping[str, int] = {}
    """By rule: the version of the catalogue in which its privileges appeared."""


class BackstopData(msgspec.Struct, frozen=True):
    """The Backstop's `data`, and how much of it is vague."""

    data: dict[str, str]
    profiles: int
    """Profiles that cover something that the back-stop holds."""
    vague: int
    """Those of them that count as covering everything, because there was no room to say what."""


def build_parameters(known: BackstopInputs, now: float) -> BackstopData:
    """Return the data. It changes with time only as something begins or ends."""
    listed = _listed(known.profiles, frozenset(known.since.items()))
    lines = [f"{name}\t{text}" for name, text in listed.items()]
    data = {
        "format": FORMAT,
        "profiles": "\n".join(lines),
        "controllers": "\n".join(_controllers(known.controllers)),
        **_modes(known.modes),
        **_excuses([each for each in known.exceptions if each.in_time(now - CLOCKS_S)]),
        **_glass([each for each in known.break_glasses if _is_open(each, now)]),
    }
    vague = sum(not text for text in listed.values())
    return BackstopData(_within(data), len(listed), vague)


@lru_cache(2)
def _listed(profiles: ProfileSet, since: frozenset[tuple[str, int]]) -> Mapping[str, str]:
    """Return the expression of each profile that covers anything held; empty: it covers all.

    Worked out once for each set: 300 profiles of 500 patterns take a second.
    """
    versions = dict(since)
    found = {each.name: _expression(each, versions) for each in profiles.ordered}
    listed = {name: text for name, text in found.items() if text is not None}
    left = MOST_OF_PROFILES
    for name in sorted(listed, key=lambda one: (len(listed[one]), one)):
        left -= len(listed[name])
        if left < 0:
            listed[name] = ""
    return listed


def _expression(profile: Profile, since: Mapping[str, int]) -> str | None:
    patterns = set(profile.patterns)
    if "**" in patterns:
        return ""
    for rule in COVERED:
        if since.get(rule.rule, 1) > profile.catalogue:
            patterns.update(rule.patterns)
    return "|".join(expressions(patterns)) or None


def _controllers(kinds: Mapping[str, frozenset[GroupKind]]) -> Iterator[str]:
    for user, owned in sorted(kinds.items()):
        for group, kind in sorted(owned):
            yield f"{user}\t{kind}.{group}"


def _modes(modes: Modes) -> dict[str, str]:
    since = modes.new_since
    has_new = modes.new is not None and since is not None
    return {
        "defaultMode": modes.default.value,
        "leastMode": modes.least.value,
        "newMode": modes.new.value if modes.new and has_new else "",
        "newSince": time_text(since.timestamp()) if since and has_new else "",
    }


def _excuses(exceptions: Iterable[PolicyException]) -> dict[str, str]:
    """Return the needs that exceptions excuse, by namespace.

    A line for the Pod that is named, or for those that are made for it.
    """
    found: dict[str, set[str]] = {}
    for each in exceptions:
        lines = found.setdefault(each.meta.namespace, set())
        for workload in each.spec.workloads:
            is_pod = (workload.api_version, workload.kind) == _POD
            name = workload.name if is_pod else ""
            lines |= {f"{name}\t{need}" for need in _needs(each)}
    return {
        f"excuses.{namespace}": _ALL_EXCUSED
        if len(lines) > MOST_EXCUSES
        else "\n".join(sorted(lines))
        for namespace, lines in found.items()
        if lines
    }


def _needs(exception: PolicyException) -> Iterator[str]:
    for excuse in exception.spec.excuses:
        if excuse.privilege is not None and is_relevant(excuse.privilege):
            for spelling in spellings(excuse.privilege):
                yield f"{spelling}@{excuse.container or ''}"


def _is_open(one: BreakGlass, now: float) -> bool:
    if one.began is None or one.meta.deletion_timestamp is not None:
        return False
    return one.began - CLOCKS_S <= now < one.ends + CLOCKS_S


def _glass(opened: Iterable[BreakGlass]) -> dict[str, str]:
    """Return the rules that open BreakGlasses relax, by namespace."""
    found: dict[str, set[str]] = {}
    for each in opened:
        for namespace in each.spec.namespaces:
            found.setdefault(namespace, set()).update(_relaxed(each))
    texts = {namespace: "|".join(sorted(parts)) for namespace, parts in found.items() if parts}
    return {
        f"glass.{namespace}": text if len(text) <= MOST_OF_GLASS else _EVERYTHING
        for namespace, text in texts.items()
    }


def _relaxed(one: BreakGlass) -> set[str]:
    rules = one.spec.rules or ()
    if EVERYTHING in rules:
        return {_EVERYTHING}
    named = {
        expression(pattern) for rule in COVERED if rule.rule in rules for pattern in rule.patterns
    }
    return named | set(expressions(one.spec.privileges or ()))


def _within(data: dict[str, str]) -> dict[str, str]:
    """Say less precisely what would not fit: the longest namespaces have all excused."""
    size = sum(len(key) + len(text) for key, text in data.items())
    for key in sorted(data, key=lambda one: (-len(data[one]), one)):
        if size <= MOST_BYTES:
            break
        if key.startswith("excuses."):
            size -= len(data[key])
            data[key] = _ALL_EXCUSED
    return data
