"""Reads a file of Rego as OPA's parser shows it: its package, its rules and its METADATA."""

from pathlib import Path
from typing import Any, Final

import msgspec

from core.base.errors import BundleRefusedError
from policies.bundle.opa_runner import parse_file


class Location(msgspec.Struct):
    """A place in a file."""

    file: str = ""
    row: int = 0

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.file}:{self.row}"


class Term(msgspec.Struct):
    """A part of a name."""

    value: Any = None


class _Package(msgspec.Struct):
    path: list[Term]
    location: Location


class Head(msgspec.Struct):
    """What a rule gives; of a set, `key` alone."""

    ref: list[Term]
    location: Location
    key: Any = None
    value: Any = None


class Clause(msgspec.Struct):
    """One rule."""

    head: Head
    default: bool = False


class Schema(msgspec.Struct):
    """A schema that METADATA states of an input."""

    path: list[Term]
    schema: list[Term]


class Annotations(msgspec.Struct):
    """One METADATA."""

    scope: str
    location: Location
    schemas: list[Schema] = []
    entrypoint: bool = False
    title: Any = None
    description: Any = None
    custom: Any = None
    related_resources: list[Any] = []


class Module(msgspec.Struct):
    """A Rego file, as `opa parse --format json --json-include locations` shows it."""

    package: _Package
    rules: list[Clause] = []
    annotations: list[Annotations] = []

    @property
    def parts(self) -> tuple[str, ...]:
        """The package's name, in parts."""
        return tuple(str(term.value) for term in self.package.path[1:])

    @property
    def location(self) -> Location:
        """Where the package is named."""
        return self.package.location

    @property
    def place(self) -> str:
        """File and line of the package."""
        return self.location.place


_MODULE: Final = msgspec.json.Decoder(Module)


def parse(opa: Path, folder: Path, file: str) -> Module:
    """Read a file by its path below `folder`.

    Raises:
        BundleRefusedError: OPA cannot read it; the message has file, line and reason.
    """
    parsed = parse_file(opa, folder, file)
    try:
        return _MODULE.decode(parsed)
    except msgspec.MsgspecError as error:
        message = f"{file}: what opa parse prints of it cannot be read ({error}): use OPA 1.22"
        raise BundleRefusedError(message) from error


def refusal_at(location: Location, problem: str, fix: str) -> BundleRefusedError:
    """Make the error that names a place, what is wrong there, and how to put it right."""
    return BundleRefusedError(f"{location.place}: {problem}: {fix}")
