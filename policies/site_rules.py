"""Reads a file of a site's Rego, and says whether it may stand beside the built-in policies.

A site adds signals, each a package `sallyport.sandbox.<family>.<name>` with a set `signals`, and
helpers in packages `site.<…>`. Nothing else: Rego joins files of one package, so that a file in a
package of the built-in policies would add to them, contradict them, or stand in for them.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Any, Final

import msgspec

from core.errors import BundleRefusedError
from policies.bundle import Rule

_SANDBOX: Final = ("sallyport", "sandbox")
_RULES: Final = ("sallyport", "rules")
_SIGNAL_PARTS: Final = 4
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")
_SIGNALS: Final = "signals"
_SCHEMAS: Final = {"input": "schema.judge", "input.projection": "schema.projection"}
"""Without them a field that does not exist is no error: its rule finds nothing, silently."""

_FIX: Final = (
    "a signal has title, description, custom.message, custom.remedy and custom.points, a whole "
    "number from 0 to 1000 (docs/sandbox/site-signals.md)"
)

_Line = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=4000)]


class _Location(msgspec.Struct):
    file: str = ""
    row: int = 0


class _Term(msgspec.Struct):
    value: Any = None


class _Package(msgspec.Struct):
    path: list[_Term]
    location: _Location


class _Head(msgspec.Struct):
    ref: list[_Term]
    location: _Location
    key: Any = None
    value: Any = None


class _Clause(msgspec.Struct):
    head: _Head
    default: bool = False


class _Schema(msgspec.Struct):
    path: list[_Term]
    schema: list[_Term]


class _Annotations(msgspec.Struct):
    scope: str
    location: _Location
    schemas: list[_Schema] = []
    entrypoint: bool = False
    title: Any = None
    description: Any = None
    custom: Any = None
    related_resources: list[Any] = []


class Module(msgspec.Struct):
    """A Rego file, as `opa parse --format json --json-include locations` shows it."""

    package: _Package
    rules: list[_Clause] = []
    annotations: list[_Annotations] = []

    @property
    def parts(self) -> tuple[str, ...]:
        """The package's name, in parts."""
        return tuple(str(term.value) for term in self.package.path[1:])

    @property
    def place(self) -> str:
        """File and line of the package."""
        return _place(self.package.location)


class _Custom(msgspec.Struct, forbid_unknown_fields=True):
    message: _Line
    remedy: _Text
    points: Annotated[int, msgspec.Meta(ge=0, le=1000)]
    since: Annotated[int, msgspec.Meta(ge=1)] = 1


class _Source(msgspec.Struct):
    ref: _Line


class _Metadata(msgspec.Struct):
    title: _Line
    description: _Text
    custom: _Custom
    related_resources: list[_Source] = []


def signal_id(module: Module, built_in: Collection[str]) -> str | None:
    """Give the rule id of a file of a signal, `sandbox/<family>/<name>`; None for a helper's.

    Raises:
        BundleRefusedError: its package is not one that a site may have, or it is an entry point.
    """
    for annotations in module.annotations:
        if annotations.entrypoint:
            raise _refused(
                annotations.location, "is an entry point", "leave out 'entrypoint: true'"
            )
    parts = module.parts
    if parts[0] == "site" and len(parts) > 1:
        return None
    if problem := _against(parts, built_in):
        raise _refused(
            module.package.location, f"package {'.'.join(parts)} {problem[0]}", problem[1]
        )
    return "/".join(parts[1:])


def _against(parts: Sequence[str], built_in: Collection[str]) -> tuple[str, str] | None:
    """Say what is against a package that is no helper's, and how to put it right."""
    fix = "name it sallyport.sandbox.<family>.<name> for a signal, site.<name> for a helper"
    if parts[0] != "sallyport":
        return "is none that a site's bundle may have", fix
    rule_id = "/".join(parts[1:])
    problem = ""
    if rule_id in built_in:
        problem = "is a built-in rule's"
    elif tuple(parts[:2]) == _RULES:
        problem = "would be a rule that denies; not yet: only signals"
    elif any(f"{each}/".startswith(f"{rule_id}/") for each in built_in):
        problem = "lies above a built-in rule's"
    elif any(rule_id.startswith(f"{each}/") for each in built_in):
        problem = "lies below a built-in rule's"
    elif tuple(parts[:2]) != _SANDBOX:
        problem = "is Sallyport's own"
    elif len(parts) != _SIGNAL_PARTS or not all(_NAME.fullmatch(part) for part in parts):
        problem = "is no signal's name (letters a-z, digits and _)"
    return (problem, fix) if problem else None


def site_rule(rule_id: str, modules: Sequence[Module]) -> Rule:
    """Give what the METADATA of a signal says, which may have several files.

    Raises:
        BundleRefusedError: it has no METADATA, or lacks something, or has no set `signals`.
    """
    _check_signals(rule_id, modules)
    found = [
        annotations
        for module in modules
        for annotations in module.annotations
        if annotations.scope == "package"
    ]
    if len(found) != 1:
        fix = f"put it above one package line; {_FIX}"
        where = modules[0].package.location
        raise _refused(where, f"{rule_id} has METADATA for its package {len(found)} times", fix)
    (annotations,) = found
    _check_schemas(rule_id, annotations)
    try:
        said = msgspec.convert(msgspec.to_builtins(annotations), _Metadata)
    except msgspec.ValidationError as error:
        message = f"METADATA of {rule_id}: {error}"
        raise _refused(annotations.location, message, _FIX) from error
    return Rule(
        id=rule_id,
        title=said.title,
        description=said.description,
        message=said.custom.message,
        remedy=said.custom.remedy,
        since=said.custom.since,
        points=said.custom.points,
        sources=[source.ref for source in said.related_resources],
        site=True,
    )


def _check_signals(rule_id: str, modules: Sequence[Module]) -> None:
    """Demand that `signals` is a set that is always defined: what is undefined finds nothing."""
    clauses = list(_signals(modules))
    for clause in clauses:
        head = clause.head
        if clause.default or len(head.ref) != 1 or head.key is None or head.value is not None:
            fix = 'write: signals contains {"path": …, "value": …} if { … }'
            raise _refused(head.location, f"signals of {rule_id} is no set", fix)
    if not clauses:
        fix = 'add: signals contains {"path": …, "value": …} if { … }'
        raise _refused(modules[0].package.location, f"{rule_id} has no signals", fix)


def _signals(modules: Sequence[Module]) -> Iterator[_Clause]:
    for module in modules:
        for clause in module.rules:
            if clause.head.ref[0].value == _SIGNALS:
                yield clause


def _check_schemas(rule_id: str, annotations: _Annotations) -> None:
    stated = {
        ".".join(str(term.value) for term in each.path): ".".join(
            str(term.value) for term in each.schema
        )
        for each in annotations.schemas
    }
    if stated != _SCHEMAS:
        lines = ", ".join(f"'- {path}: {schema}'" for path, schema in _SCHEMAS.items())
        raise _refused(
            annotations.location,
            f"METADATA of {rule_id} does not have the schemas of its input",
            f"put under 'schemas:' {lines}, so that a field that does not exist is an error",
        )


def _place(location: _Location) -> str:
    return f"{location.file}:{location.row}"


def _refused(location: _Location, problem: str, fix: str) -> BundleRefusedError:
    return BundleRefusedError(f"{_place(location)}: {problem}: {fix}")
