"""Reads ConstraintTemplates and Constraints.

Sources: open-policy-agent/frameworks `constraint/pkg/apis/templates` (v1, v1beta1) and Gatekeeper's
`pkg/mutation/match/match.go`.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from core.base.errors import BundleRefusedError
from policies.gatekeeper_import.documents import Document

_TEMPLATES: Final = "templates.gatekeeper.sh"
_CONSTRAINTS: Final = "constraints.gatekeeper.sh"
_TARGET: Final = "admission.k8s.gatekeeper.sh"
_REGO: Final = "Rego"


class TemplateSource(msgspec.Struct, frozen=True):
    """One text of Rego in a template."""

    text: str
    file: str
    line: int
    """Of the text's first line in the file."""
    exact: bool
    """Whether each line of the file is one of the text."""
    version: str = "v0"

    def at(self, row: int) -> str:
        """Return file and line of a row of the text, from 1."""
        return f"{self.file}:{self.line + (row - 1 if self.exact else 0)}"


class Template(msgspec.Struct, frozen=True):
    """What of a ConstraintTemplate matters."""

    name: str
    kind: str
    """Of its Constraints."""
    title: str
    description: str
    place: str
    policy: TemplateSource
    libs: tuple[TemplateSource, ...]
    schema: dict[str, Any]
    """Of the parameters, as OpenAPI has it."""
    other_engines: tuple[str, ...] = ()
    """In whose language it is written besides Rego."""


class Constraint(msgspec.Struct, frozen=True):
    """A Constraint, of which nothing has been checked."""

    kind: str
    name: str
    place: str
    spec: dict[str, Any]


def is_template(document: Document) -> bool:
    """Return whether an object is a ConstraintTemplate."""
    return _group(document) == _TEMPLATES and document.value.get("kind") == "ConstraintTemplate"


def is_constraint(document: Document) -> bool:
    """Return whether an object is a Constraint."""
    return _group(document) == _CONSTRAINTS


def _group(document: Document) -> str:
    return str(document.value.get("apiVersion", "")).partition("/")[0]


def name_of(document: Document) -> str:
    """Return the object's name; `(unnamed)` where it has none."""
    return str(_mapping(document.value.get("metadata")).get("name") or "(unnamed)")


def read_constraint(document: Document) -> Constraint:
    """Return a Constraint."""
    spec = _mapping(document.value.get("spec"))
    kind = str(document.value.get("kind", ""))
    return Constraint(kind, name_of(document), document.place, spec)


def read_template(document: Document) -> Template:
    """Return a ConstraintTemplate.

    Raises:
        BundleRefusedError: it has no Rego, or another shape than a template; has file and line.
    """
    value = document.value
    spec = _mapping(value.get("spec"))
    crd = _mapping(_mapping(spec.get("crd")).get("spec"))
    kind = str(_mapping(crd.get("names")).get("kind") or "")
    name = name_of(document)
    if not kind or name != kind.lower():
        raise BundleRefusedError(
            f"{document.place}: metadata.name is {name!r} and spec.crd.spec.names.kind {kind!r}: "
            "the name must be the kind in lower case"
        )
    policy, libs = _sources(document, spec.get("targets"))
    notes = _mapping(_mapping(value.get("metadata")).get("annotations"))
    title = str(notes.get("metadata.gatekeeper.sh/title") or kind)
    return Template(
        name=name,
        kind=kind,
        title=" ".join(title.split())[:200],
        description=str(notes.get("description") or title).strip()[:4000],
        place=document.place,
        policy=policy,
        libs=libs,
        schema=_mapping(_mapping(crd.get("validation")).get("openAPIV3Schema")),
        other_engines=_others(_mapping(spec["targets"][0])),
    )


def _others(target: Mapping[str, Any]) -> tuple[str, ...]:
    engines = (str(_mapping(each).get("engine")) for each in target.get("code") or [])
    return tuple(engine for engine in engines if engine != _REGO)


def _sources(document: Document, targets: Any) -> tuple[TemplateSource, tuple[TemplateSource, ...]]:
    if not isinstance(targets, list) or len(targets) != 1:
        raise BundleRefusedError(f"{document.place}: spec.targets must have one target")
    target = _mapping(targets[0])
    if target.get("target") != _TARGET:
        problem = f"spec.targets[0].target is {target.get('target')!r}"
        raise BundleRefusedError(f"{document.place}: {problem}: only {_TARGET} is known")
    steps: tuple[str | int, ...] = ("spec", "targets", 0)
    engines = [_mapping(each) for each in target.get("code") or []]
    for number, each in enumerate(engines):
        if each.get("engine") == _REGO:
            inner = _mapping(each.get("source"))
            return _texts(document, inner, (*steps, "code", number, "source"))
    if isinstance(target.get("rego"), str) and target["rego"].strip():
        return _texts(document, target, steps)
    if engines:
        names = ", ".join(str(each.get("engine")) for each in engines)
        raise BundleRefusedError(
            f"{document.place}: has no Rego, only {names}: only templates with Rego can be "
            "carried over: write it as a rule (docs/policies/rules.md)"
        )
    raise BundleRefusedError(f"{document.place}: spec.targets[0] has no rego and no code")


def _texts(
    document: Document, source: dict[str, Any], steps: tuple[str | int, ...]
) -> tuple[TemplateSource, tuple[TemplateSource, ...]]:
    version = str(source.get("version") or "v0")
    if version not in {"v0", "v1"}:
        problem = f"source.version is {version!r}"
        raise BundleRefusedError(f"{document.place}: {problem}: only v0 and v1 are known")

    def made(text: Any, *more: str | int) -> TemplateSource:
        line, exact = document.text_line(*steps, *more)
        return TemplateSource(str(text or ""), document.file, line, exact, version)

    libs = source.get("libs") or []
    return made(source.get("rego"), "rego"), tuple(
        made(text, "libs", number) for number, text in enumerate(libs)
    )


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
