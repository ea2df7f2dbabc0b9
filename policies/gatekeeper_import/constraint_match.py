"""Reads what a Constraint says of where it holds and what it does.

Source: Gatekeeper's `pkg/mutation/match/match.go` and `pkg/util/enforcement_action.go`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

from core.base.errors import BundleRefusedError
from policies.gatekeeper_import.templates import Constraint
from policies.site.fields import check_kind
from policies.site.kubernetes_kinds import are_namespaced, groups_of, rule_kind

_WEBHOOK: Final = "validation.gatekeeper.sh"
_OPERATORS: Final = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})
_GLOB: Final = re.compile(r"[a-z0-9*]([a-z0-9*-]{0,61}[a-z0-9*])?")
_READ: Final = frozenset(
    [
        "kinds",
        "namespaces",
        "excludedNamespaces",
        "labelSelector",
        "namespaceSelector",
        "scope",
        "name",
        "source",
    ]
)
_ACTIONS: Final[Mapping[str, Literal["deny", "warn"]]] = {
    "deny": "deny",
    "warn": "warn",
    "dryrun": "warn",
}
_MOST_KINDS: Final = 50
_OPTIONS: Final = frozenset(
    [
        "NodeProxyOptions",
        "PodAttachOptions",
        "PodExecOptions",
        "PodPortForwardOptions",
        "PodProxyOptions",
        "ServiceProxyOptions",
    ]
)


class Match(msgspec.Struct, frozen=True):
    """Where a Constraint holds, and what it does."""

    action: Literal["deny", "warn"]
    kinds: tuple[str, ...]
    namespaces: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    labels: dict[str, Any] = {}
    namespace_labels: dict[str, Any] = {}
    scope: str = "*"
    name: str = ""
    notes: tuple[str, ...] = ()
    """What of it differs."""

    @property
    def by_file(self) -> bool:
        """Whether the file of choices can say the namespaces: nothing lies in none."""
        return are_namespaced(self.kinds)


def read_match(constraint: Constraint) -> Match:
    """Return where a Constraint holds.

    Raises:
        BundleRefusedError: something of it cannot be carried over; names the field.
    """
    try:
        return _read(constraint)
    except ValueError as error:
        raise BundleRefusedError(f"{constraint.place}: {error}") from error


def _read(constraint: Constraint) -> Match:
    match = _mapping(constraint.spec, "match")
    for key in match:
        if key not in _READ:
            raise ValueError(f"spec.match.{key} is not known here")
    notes: list[str] = []
    if match.get("source") == "Generated":
        raise ValueError("spec.match.source is Generated: nothing is generated here")
    scope = str(match.get("scope") or "*")
    return Match(
        action=_action(constraint.spec, notes),
        kinds=tuple(_kinds(match.get("kinds"), notes)),
        namespaces=_globs(match, "namespaces"),
        excluded=_globs(match, "excludedNamespaces"),
        labels=_selector(match, "labelSelector"),
        namespace_labels=_selector(match, "namespaceSelector"),
        scope=scope if scope in {"Cluster", "Namespaced"} else "*",
        name=str(match.get("name") or ""),
        notes=tuple(notes),
    )


def _mapping(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key) or {}
    if not isinstance(found, dict):
        raise ValueError(f"{key} is no mapping")  # noqa: TRY004 (a wrong value of a file)
    return found


def _action(spec: Mapping[str, Any], notes: list[str]) -> Literal["deny", "warn"]:
    action = str(spec.get("enforcementAction") or "deny")
    if action == "scoped":
        scoped = [
            str(each.get("action"))
            for each in spec.get("scopedEnforcementActions") or []
            if {_WEBHOOK, "*"} & {str(it.get("name")) for it in each.get("enforcementPoints") or []}
        ]
        action = next((each for each in _ACTIONS if each in scoped), "dryrun")
        notes.append(f"of the scoped actions only that of the webhook counts: {action}")
    if action not in _ACTIONS:
        raise ValueError(f"spec.enforcementAction {action!r} is none of {', '.join(_ACTIONS)}")
    if action == "dryrun":
        notes.append("dryrun told nobody; as a rule it warns: say 'off' in the rules file to stop")
    return _ACTIONS[action]


def _kinds(given: Any, notes: list[str]) -> Iterator[str]:
    if not isinstance(given, list) or not given:
        raise ValueError("spec.match.kinds names no kind, and a rule must: name them")
    found: dict[str, None] = {}
    for each in given:
        groups = list(_groups(each.get("apiGroups") or ["*"], notes))
        for kind in each.get("kinds") or ["*"]:
            found.update(dict.fromkeys(_written(str(kind), groups)))
    if not found:
        raise ValueError(f"spec.match.kinds names no kind that there is: {'; '.join(notes)}")
    if len(found) > _MOST_KINDS:
        raise ValueError(f"spec.match.kinds names more than {_MOST_KINDS} kinds: split it")
    yield from found


def _groups(given: Iterable[Any], notes: list[str]) -> Iterator[str]:
    """Leave out what is no group (with a version it names nothing in Gatekeeper either)."""
    for group in map(str, given):
        if "/" in group:
            notes.append(f"spec.match.kinds: no group is called {group}: it names no kind")
        else:
            yield group


def _written(kind: str, groups: Iterable[str]) -> Iterator[str]:
    if kind == "*":
        raise ValueError("spec.match.kinds names every kind ('*'), and a rule must name its own")
    if kind in _OPTIONS:
        raise ValueError(f"spec.match.kinds: {kind}: no rule is asked when a Pod is entered")
    for group in groups:
        known = groups_of(kind) if group == "*" else [group]
        if not known:
            raise ValueError(f"spec.match.kinds: {kind}: apiGroups '*' must name its group")
        for each in known:
            name = rule_kind(each, kind)
            check_kind(name)
            yield name


def _globs(match: Mapping[str, Any], key: str) -> tuple[str, ...]:
    found = tuple(str(each) for each in match.get(key) or ())
    for each in found:
        if not _GLOB.fullmatch(each):
            raise ValueError(f"spec.match.{key}: {each!r} is no name of a namespace and no pattern")
    return found


def _selector(match: Mapping[str, Any], key: str) -> dict[str, Any]:
    selector = _mapping(match, key)
    for each in selector:
        if each not in {"matchLabels", "matchExpressions"}:
            raise ValueError(f"spec.match.{key}.{each} is not known here")
    for number, demand in enumerate(selector.get("matchExpressions") or []):
        place = f"spec.match.{key}.matchExpressions[{number}]"
        if not isinstance(demand, dict) or demand.get("operator") not in _OPERATORS:
            raise ValueError(f"{place}.operator is none of {', '.join(sorted(_OPERATORS))}")
        if demand["operator"] in {"In", "NotIn"} and not demand.get("values"):
            raise ValueError(f"{place}.values must not be empty")
    return {each: value for each, value in selector.items() if value}
