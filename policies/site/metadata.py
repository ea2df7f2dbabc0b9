"""Reads what the METADATA of a site's rules and signals says, and demands what they must have."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec

from policies.bundle.format import Rule
from policies.site.fields import check_declared
from policies.site.rego_parser import Annotations, Clause, Module, refusal_at

_SIGNAL_SETS: Final = ("signals",)
_RULE_SETS: Final = ("deny", "warn")

_SCHEMAS: Final = {"input": "schema.judge", "input.projection": "schema.projection"}
"""Without them a field that does not exist is no error: its rule finds nothing, silently."""

_FIELDS: Final = {"input.fields": "schema.fields"}
"""What the build makes of the fields that rules declare; stated by those that declare any."""

_SIGNAL_FIX: Final = (
    "a signal has title, description, custom.message, custom.remedy and custom.points, a whole "
    "number from 0 to 1000 (docs/sandbox/site-signals.md)"
)
_RULE_FIX: Final = (
    "a rule has title, description, custom.message, custom.remedy and custom.severity (low, "
    "medium, high or critical); custom.kinds, custom.fields and custom.parameters where it needs "
    "them (docs/policies/rules.md)"
)

_Line = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=4000)]
_T = TypeVar("_T")
_Few = Annotated[list[_Line], msgspec.Meta(max_length=50)]


class _OfSignal(msgspec.Struct, forbid_unknown_fields=True):
    message: _Line
    remedy: _Text
    points: Annotated[int, msgspec.Meta(ge=0, le=1000)]
    since: Annotated[int, msgspec.Meta(ge=1)] = 1


class _OfRule(msgspec.Struct, forbid_unknown_fields=True):
    message: _Line
    remedy: _Text
    severity: Literal["low", "medium", "high", "critical"]
    kinds: Annotated[_Few, msgspec.Meta(min_length=1)] = msgspec.field(
        default_factory=lambda: ["Pod"]
    )
    fields: _Few = []
    parameters: dict[str, dict[str, Any]] = {}
    since: Annotated[int, msgspec.Meta(ge=1)] = 1


class _Source(msgspec.Struct):
    ref: _Line


class _Metadata(msgspec.Struct, kw_only=True):
    title: _Line
    description: _Text
    related_resources: list[_Source] = []

    @property
    def sources(self) -> list[str]:
        return [source.ref for source in self.related_resources]


class _SignalMetadata(_Metadata, kw_only=True):
    custom: _OfSignal


class _RuleMetadata(_Metadata, kw_only=True):
    custom: _OfRule


class AuthoredRule(msgspec.Struct, frozen=True):
    """A rule or a signal as its author wrote it."""

    rule: Rule
    sets: tuple[str, ...]
    """Which of its sets there are: `signals`; or `deny`, `warn` or both."""
    place: str
    """File and line of its METADATA."""
    parameters: Mapping[str, Mapping[str, Any]] = {}
    """For each parameter its JSON Schema, which may have a `default`."""


def read_rule(rule_id: str, modules: Sequence[Module]) -> AuthoredRule:
    """Read the METADATA of a rule or a signal from the files of its package.

    Raises:
        BundleRefusedError: it has no METADATA, or lacks something, or has no set of what it finds.
    """
    signals = rule_id.startswith("sandbox/")
    sets = _sets(rule_id, modules, _SIGNAL_SETS if signals else _RULE_SETS)
    annotations = _annotations(rule_id, modules, _SIGNAL_FIX if signals else _RULE_FIX)
    return (_read_signal if signals else _read_rule)(rule_id, annotations, sets)


def _read_signal(rule_id: str, annotations: Annotations, sets: tuple[str, ...]) -> AuthoredRule:
    _check_schemas(rule_id, annotations, _SCHEMAS)
    said = _convert_metadata(rule_id, annotations, _SignalMetadata, _SIGNAL_FIX)
    rule = _rule(rule_id, said, points=said.custom.points)
    return AuthoredRule(rule, sets, annotations.location.place)


def _read_rule(rule_id: str, annotations: Annotations, sets: tuple[str, ...]) -> AuthoredRule:
    said = _convert_metadata(rule_id, annotations, _RuleMetadata, _RULE_FIX)
    custom = said.custom
    _check_schemas(rule_id, annotations, _SCHEMAS | (_FIELDS if custom.fields else {}))
    try:
        check_declared(custom.kinds, custom.fields)
    except ValueError as error:
        raise refusal_at(
            annotations.location, f"METADATA of {rule_id}: {error}", _RULE_FIX
        ) from error
    rule = _rule(rule_id, said, severity=custom.severity, kinds=custom.kinds, fields=custom.fields)
    return AuthoredRule(rule, sets, annotations.location.place, custom.parameters)


def _rule(rule_id: str, said: _SignalMetadata | _RuleMetadata, **own: Any) -> Rule:
    """Return the rule of the METADATA that rules and signals share, and of their own."""
    return Rule(
        id=rule_id,
        title=said.title,
        description=said.description,
        message=said.custom.message,
        remedy=said.custom.remedy,
        since=said.custom.since,
        sources=said.sources,
        site=True,
        **own,
    )


def _convert_metadata(rule_id: str, annotations: Annotations, kind: type[_T], fix: str) -> _T:
    try:
        return msgspec.convert(msgspec.to_builtins(annotations), kind)
    except msgspec.ValidationError as error:
        raise refusal_at(annotations.location, f"METADATA of {rule_id}: {error}", fix) from error


def _annotations(rule_id: str, modules: Sequence[Module], fix: str) -> Annotations:
    found = [
        annotations
        for module in modules
        for annotations in module.annotations
        if annotations.scope == "package"
    ]
    if len(found) != 1:
        problem = f"{rule_id} has METADATA for its package {len(found)} times"
        raise refusal_at(modules[0].location, problem, f"put it above one package line; {fix}")
    return found[0]


def _sets(rule_id: str, modules: Sequence[Module], names: Sequence[str]) -> tuple[str, ...]:
    """Return which of the sets there are. Each is always defined.

    What is undefined finds nothing.
    """
    entry = '{"path": …, "value": …} if { … }'
    found = set()
    for name, clause in _clauses(modules):
        if name not in names:
            continue
        head = clause.head
        if clause.default or len(head.ref) != 1 or head.key is None or head.value is not None:
            problem = f"{name} of {rule_id} is no set"
            raise refusal_at(head.location, problem, f"write: {name} contains {entry}")
        found.add(name)
    if not found:
        problem = f"{rule_id} has no {' and no '.join(names)}"
        raise refusal_at(modules[0].location, problem, f"add: {names[0]} contains {entry}")
    return tuple(name for name in names if name in found)


def _clauses(modules: Sequence[Module]) -> Iterator[tuple[str, Clause]]:
    for module in modules:
        for clause in module.rules:
            yield str(clause.head.ref[0].value), clause


def _check_schemas(rule_id: str, annotations: Annotations, demanded: Mapping[str, str]) -> None:
    stated = {
        ".".join(str(term.value) for term in each.path): ".".join(
            str(term.value) for term in each.schema
        )
        for each in annotations.schemas
    }
    if stated != demanded:
        lines = ", ".join(f"'- {path}: {schema}'" for path, schema in demanded.items())
        raise refusal_at(
            annotations.location,
            f"METADATA of {rule_id} does not have the schemas of its input",
            f"put under 'schemas:' {lines}, so that a field that does not exist is an error",
        )
