"""What a site chooses of its rules: which are in force, what they do, where, with which parameters.

Written in a file of YAML (`sallyport policy build --rules FILE`), part of the bundle and of its
revision.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import jsonschema
import msgspec

from core.base.errors import BundleRefusedError
from kube.manifests.strict_yaml import YamlError, load_all
from policies.builtins.regexes import why_no_pattern
from policies.bundle.format import Rule
from policies.site.metadata import AuthoredRule

_MOST_BYTES: Final = 1024 * 1024
_GLOB: Final = re.compile(r"[a-z0-9*]([a-z0-9*-]{0,61}[a-z0-9*])?")
_Globs = Annotated[list[str], msgspec.Meta(max_length=500)]

_SHAPE: Final = "docs/policies/rules.md says its shape"

_SYNTAX: Final = (
    "write it in RE2's syntax (https://github.com/google/re2/wiki/Syntax), which has no "
    "look-around and no back references"
)
_FORMATS: Final = jsonschema.FormatChecker(formats=())


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What a site says of one rule."""

    action: Literal["deny", "warn", "off"] = "deny"
    """What becomes of what it denies; `off` leaves it out."""
    namespaces: _Globs = []
    """Where it holds, `team-*`; everywhere where there is none."""
    excluded_namespaces: _Globs = []
    """Where it does not."""
    parameters: dict[str, Any] = {}


ORDINARY: Final = Choice()
"""Of a rule that the file does not name."""


class Choices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    rules: dict[str, Choice] = {}
    """By rule id, without `rules/`: `labels/required`."""

    def of(self, rule: Rule) -> Choice:
        """Return the choice for a rule."""
        return self.rules.get(rule.id.removeprefix("rules/"), ORDINARY)

    def named(self) -> frozenset[str]:
        """Return the ids of the rules that are wanted."""
        return frozenset(f"rules/{each}" for each, it in self.rules.items() if it.action != "off")

    def off(self) -> frozenset[str]:
        """Return the ids of the rules that are switched off, without `rules/`."""
        return frozenset(each for each, it in self.rules.items() if it.action == "off")


NO_CHOICES: Final = Choices()


def read_choices(path: Path) -> Choices:
    """Read the file.

    Raises:
        BundleRefusedError: it is missing or has another shape; names the field.
    """
    try:
        content = path.read_bytes()[: _MOST_BYTES + 1]
        if len(content) > _MOST_BYTES:
            raise BundleRefusedError(f"{path}: larger than {_MOST_BYTES >> 20} MiB")
        documents = [value for _, value in load_all(content.decode())]
        if len(documents) > 1:
            raise BundleRefusedError(f"{path}: more than one document: put all rules into one")
        rules = msgspec.convert(documents[0] if documents else None, _File | None)
    except OSError as error:
        raise BundleRefusedError(f"{path}: cannot be read: {error.strerror}") from error
    except YamlError as error:
        raise BundleRefusedError(f"{path}: {error}") from error
    except ValueError as error:
        raise BundleRefusedError(f"{path}: {error}: {_SHAPE}") from error
    found = rules.rules if rules else {}
    return Choices({name: _choice(f"{path}: rules.{name}", found[name]) for name in found})


class _File(msgspec.Struct, forbid_unknown_fields=True):
    rules: dict[str, Any] = {}


def _choice(where: str, value: Any) -> Choice:
    if isinstance(value, dict) and value.get("action") is False:
        value = value | {"action": "off"}  # What YAML takes an `off` without quotes for.
    try:
        choice = msgspec.convert({} if value is None else value, Choice)
    except ValueError as error:
        raise BundleRefusedError(f"{where}: {error}: {_SHAPE}") from error
    for glob in (*choice.namespaces, *choice.excluded_namespaces):
        if not _GLOB.fullmatch(glob):
            problem = f"{glob!r} is no name of a namespace, nor a pattern of some (team-*)"
            raise BundleRefusedError(f"{where}: {problem}")
    return choice


def check_names(choices: Choices, known: Iterable[str]) -> None:
    """Demand that each rule that is spoken of is there.

    Raises:
        BundleRefusedError: one is not.
    """
    there = sorted(each.removeprefix("rules/") for each in known)
    for name in choices.rules:
        if name not in there:
            raise BundleRefusedError(
                f"--rules: rules.{name}: there is no such rule; there are: {', '.join(there)}"
            )


def parameters_of(written: AuthoredRule, choice: Choice) -> Mapping[str, Any]:
    """Return the value of each of a rule's parameters: the site's, else the default.

    Raises:
        BundleRefusedError: one is not declared, is missing, or is not what its schema says.
    """
    name = written.rule.id.removeprefix("rules/")
    where = f"--rules: rules.{name}.parameters"
    for given in choice.parameters:
        if given not in written.parameters:
            known = ", ".join(written.parameters) or "none"
            raise BundleRefusedError(
                f"{where}.{given}: the rule has no such parameter; it has {known}"
            )
    values = {}
    for key, schema in written.parameters.items():
        if key in choice.parameters:
            values[key] = choice.parameters[key]
        elif "default" in schema:
            values[key] = schema["default"]
        else:
            raise BundleRefusedError(f"{where}.{key}: must be given: {_described(schema)}")
        _check(f"{where}.{key}", values[key], schema, written.place)
    return values


def _described(schema: Mapping[str, Any]) -> str:
    return str(schema.get("description") or schema.get("type") or "see the rule's page")


def _check(where: str, value: Any, schema: Mapping[str, Any], place: str) -> None:
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        name = where.rpartition(".")[2]
        message = f"{place}: custom.parameters.{name} is no JSON Schema: {error.message}"
        raise BundleRefusedError(message) from error
    validator = jsonschema.Draft202012Validator(schema, format_checker=_FORMATS)
    for wrong in validator.iter_errors(value):
        at = "".join(f"[{step!r}]" for step in wrong.absolute_path)
        what = f"{wrong.instance!r}: {wrong.cause}" if wrong.cause else wrong.message
        raise BundleRefusedError(f"{where}{at}: {what} ({_described(schema)})")


def _is_pattern(value: object) -> bool:
    """Return whether a text is a regular expression as rules read it; the error says why not."""
    if isinstance(value, str) and (why := why_no_pattern(value)):
        raise ValueError(f"{why}: {_SYNTAX}")
    return True


_FORMATS.checks("regex", raises=ValueError)(_is_pattern)
