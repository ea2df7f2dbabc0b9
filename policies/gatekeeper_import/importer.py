"""Carries Gatekeeper's ConstraintTemplates and Constraints over into a site's rules.

It says what became of each; a template that calls built-in functions the engine lacks is refused.
"""

import hashlib
import io
import re
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from core.base.errors import BundleRefusedError, SallyportError
from policies import BUILT_IN_REGO
from policies.build.builder import build
from policies.builtins.registry import SUPPLIED
from policies.bundle.opa_runner import run_opa
from policies.engine.wasm import Code, Instance
from policies.gatekeeper_import.adapter import CATEGORY, adapter, fields_of
from policies.gatekeeper_import.constraint_match import Match, read_match
from policies.gatekeeper_import.declared_fields import needed_fields
from policies.gatekeeper_import.documents import Document
from policies.gatekeeper_import.input_reads import InputReads, follow
from policies.gatekeeper_import.parameter_schemas import fill_defaults, json_schema, schema_problem
from policies.gatekeeper_import.rego_conversion import ConvertedTemplate, convert_template
from policies.gatekeeper_import.shared_rego import SHARED_REGO
from policies.gatekeeper_import.syntax import constant_path, references
from policies.gatekeeper_import.templates import (
    Constraint,
    Template,
    is_constraint,
    is_template,
    name_of,
    read_constraint,
    read_template,
)
from policies.site.choices import Choice, Choices

_MEMORY_BYTES: Final = 64 * 1024 * 1024

_LONGEST: Final = 40
"""Characters of a rule's name: that of its file must fit into a bundle."""

_UNUSED: Final = Match(action="deny", kinds=("Pod",))
"""Of a template without a Constraint."""


def missing_builtins(opa: Path, made: Mapping[str, ConvertedTemplate]) -> dict[str, list[str]]:
    """Return for each of the templates the functions that it calls and the engine lacks.

    Raises:
        BundleRefusedError: OPA cannot compile them.
        PolicyError: what it compiles them to cannot be loaded.
    """
    if not made:
        return {}
    missing = _required(opa, made) - SUPPLIED.keys()
    return {
        name: sorted(missing & {constant_path(parts) for parts in references(list(each.trees))})
        for name, each in made.items()
    }


def _required(opa: Path, made: Mapping[str, ConvertedTemplate]) -> frozenset[str]:
    with tempfile.TemporaryDirectory(prefix="sallyport-import-") as scratch:
        folder = Path(scratch)
        for name, text in _files(made):
            (folder / name).write_text(text)
        entries = [
            argument
            for each in made.values()
            for argument in ("-e", f"{each.package.replace('.', '/')}/violation")
        ]
        run_opa(opa, folder, "build", "-t", "wasm", *entries, "-o", "out.tar.gz", "-b", ".")
        code = Code(_wasm((folder / "out.tar.gz").read_bytes()))
    try:
        instance = Instance(code, _MEMORY_BYTES, SUPPLIED)
        found = frozenset(instance.required)
        instance.close()
    finally:
        code.close()
    return found


def _files(made: Mapping[str, ConvertedTemplate]) -> Iterator[tuple[str, str]]:
    yield "shared.rego", SHARED_REGO
    for name, each in made.items():
        for file, text in each.texts.items():
            yield f"{name}-{file}", text


def _wasm(archive: bytes) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(archive)) as bundle:
        found: Any = bundle.extractfile("/policy.wasm")
        content: bytes = found.read()
        return content


class ImportOutcome(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What became of one."""

    kind: str
    """`ConstraintTemplate`, or the Constraint's kind."""
    name: str
    place: str
    """File and line."""
    outcome: Literal["carried-over", "refused"]
    rule: str = ""
    """Of a Constraint that was carried over, or of a template without one: the rule's id."""
    why: str = ""
    """Why it was refused."""
    differs: tuple[str, ...] = ()
    """What the rule does otherwise than it did."""
    fields: tuple[str, ...] = ()
    """What the rule declares to read."""

    @property
    def refused(self) -> bool:
        """Whether it was not carried over."""
        return self.outcome == "refused"


class ImportReport(msgspec.Struct, frozen=True):
    """All that was read, in its order."""

    outcomes: tuple[ImportOutcome, ...]
    into: str
    rules_file: str
    passed_over: int = 0
    """Objects that are neither."""

    @property
    def complete(self) -> bool:
        """Whether all was carried over."""
        return not any(each.refused for each in self.outcomes)


class ConvertedRules(msgspec.Struct):
    """What there is to write."""

    outcomes: list[ImportOutcome] = []
    files: dict[str, str] = {}
    """Rego, by path below the folder of the site."""
    choices: dict[str, Choice] = {}
    """By rule id, as the rules file has it."""
    passed_over: int = 0


class _ReadyTemplate(msgspec.Struct):
    template: Template
    name: str
    converted: ConvertedTemplate
    reading: InputReads
    used: bool = False


def convert_all(opa: Path, documents: Iterable[Document]) -> ConvertedRules:
    """Make rules of all templates and Constraints that can be carried over.

    Each is refused for itself, with its place and the reason.
    """
    carried, templates, constraints = ConvertedRules(), [], []
    for document in documents:
        if is_template(document):
            templates.append(document)
        elif is_constraint(document):
            constraints.append(read_constraint(document))
        else:
            carried.passed_over += 1
    ready: dict[str, _ReadyTemplate | None] = {}
    for document in templates:
        _template(opa, document, ready, carried)
    _check_builtins(opa, ready, carried)
    for constraint in constraints:
        _constraint(constraint, ready, carried)
    for each in ready.values():
        if each and not each.used:
            _alone(each, carried)
    if carried.files:
        carried.files[f"{CATEGORY}/shared.rego"] = SHARED_REGO
    return carried


def prove_rules(opa: Path, carried: ConvertedRules) -> None:
    """Build a bundle of what was carried over, so that it is known to be one.

    Raises:
        BundleRefusedError: it is none; has file and line.
    """
    with tempfile.TemporaryDirectory(prefix="sallyport-import-") as scratch:
        site = Path(scratch) / "site"
        for name, text in carried.files.items():
            path = site / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        output = Path(scratch) / "bundle.tar.gz"
        build(opa, BUILT_IN_REGO, output, [site], Choices(carried.choices))


def _template(
    opa: Path, document: Document, ready: dict[str, _ReadyTemplate | None], carried: ConvertedRules
) -> None:
    kind = "ConstraintTemplate"
    name = name_of(document)
    try:
        template = read_template(document)
        _check_new(template, ready)
        ready[template.kind] = None
        short = _short(template.name)
        made = convert_template(opa, template, short)
        reading = _followed(template, made)
    except BundleRefusedError as error:
        carried.outcomes.append(
            ImportOutcome(kind, name, document.place, "refused", why=str(error))
        )
        return
    ready[template.kind] = _ReadyTemplate(template, short, made, reading)
    carried.outcomes.append(ImportOutcome(kind, name, document.place, "carried-over"))
    for file, text in made.texts.items():
        carried.files[f"{CATEGORY}/{short}/{file}"] = text


def _check_new(template: Template, ready: Mapping[str, object]) -> None:
    if template.kind in ready:
        raise BundleRefusedError(f"{template.place}: the template was read before: leave one")


def _check_builtins(
    opa: Path, ready: dict[str, _ReadyTemplate | None], carried: ConvertedRules
) -> None:
    """Refuse the templates that call what the engine lacks."""
    missing = missing_builtins(opa, {kind: it.converted for kind, it in ready.items() if it})
    for kind, names in missing.items():
        each = ready[kind]
        if names and each:
            ready[kind] = None
            template = each.template
            why = (
                f"{template.policy.at(1)}: calls what policies may not call here: "
                f"{', '.join(names)}: see docs/reference/builtins.md for what they may"
            )
            index = _index(carried, template)
            carried.outcomes[index] = msgspec.structs.replace(
                carried.outcomes[index], outcome="refused", why=why
            )
            for file in each.converted.texts:
                del carried.files[f"{CATEGORY}/{each.name}/{file}"]


def _index(carried: ConvertedRules, template: Template) -> int:
    return next(
        number
        for number, each in enumerate(carried.outcomes)
        if each.place == template.place and not each.refused
    )


def _followed(template: Template, made: ConvertedTemplate) -> InputReads:
    try:
        reading = follow(made.trees)
        needed_fields(reading, ["Pod"])
    except BundleRefusedError as error:
        raise BundleRefusedError(f"{template.policy.at(1)}: {error}") from error
    return reading


def _constraint(
    constraint: Constraint, ready: Mapping[str, _ReadyTemplate | None], carried: ConvertedRules
) -> None:
    try:
        if constraint.kind not in ready:
            raise BundleRefusedError(f"{constraint.place}: there is no template of this kind")
        template = ready[constraint.kind]
        if template is None:
            raise BundleRefusedError(f"{constraint.place}: its template was refused")
        match = read_match(constraint)
        outcome = _rule(template, constraint, match, carried)
    except SallyportError as error:
        why = str(error)
        outcome = ImportOutcome(
            constraint.kind, constraint.name, constraint.place, "refused", why=why
        )
    carried.outcomes.append(outcome)


def _rule(
    template: _ReadyTemplate, constraint: Constraint, match: Match, carried: ConvertedRules
) -> ImportOutcome:
    name = _short(f"{template.name}_{constraint.name}")
    rule = f"{CATEGORY}/{name}"
    if rule in carried.choices:
        raise BundleRefusedError(f"{constraint.place}: the Constraint was read before: leave one")
    try:
        need = needed_fields(template.reading, match.kinds)
    except BundleRefusedError as error:
        raise BundleRefusedError(f"{template.template.policy.at(1)}: {error}") from error
    of = (template.template, constraint)
    choice = _choice(template.template, constraint, match)
    text = adapter(name, template.converted.package, of, match, need)
    carried.files[f"{CATEGORY}/{name}.rego"] = text
    carried.choices[rule] = choice
    template.used = True
    return ImportOutcome(
        constraint.kind,
        constraint.name,
        constraint.place,
        "carried-over",
        rule=f"rules/{rule}",
        differs=(*match.notes, *need.notes, *_notes(template.template, match)),
        fields=fields_of(need, match),
    )


def _choice(template: Template, constraint: Constraint, match: Match) -> Choice:
    given = fill_defaults(constraint.spec.get("parameters") or {}, template.schema)
    if wrong := schema_problem(given, json_schema(template.schema)):
        raise BundleRefusedError(f"{constraint.place}: {wrong}")
    return Choice(
        action=match.action,
        namespaces=list(match.namespaces) if match.by_file else [],
        excluded_namespaces=list(match.excluded) if match.by_file else [],
        parameters={"parameters": given},
    )


def _notes(template: Template, match: Match) -> Iterable[str]:
    if template.other_engines:
        engines = ", ".join(template.other_engines)
        yield f"its Rego was carried over; Gatekeeper may evaluate the other engine's: {engines}"
    if "Pod" in match.kinds:
        yield "is asked about the Pod templates of workloads too, not only about Pods"
    if others := [kind for kind in match.kinds if kind != "Pod"]:
        yield f"is asked about {', '.join(others)} only where the chart's webhooks.kinds has them"


def _alone(template: _ReadyTemplate, carried: ConvertedRules) -> None:
    """Write the rule of a template that nobody uses yet, switched off."""
    made = template.template
    constraint = Constraint(made.kind, made.name, made.place, {})
    outcome = _rule(template, constraint, _UNUSED, carried)
    rule = outcome.rule.removeprefix("rules/")
    carried.choices[rule] = msgspec.structs.replace(carried.choices[rule], action="off")
    index = _index(carried, made)
    note = "has no Constraint: its rule is off and about Pods: say in it what it is for"
    carried.outcomes[index] = msgspec.structs.replace(
        carried.outcomes[index],
        rule=outcome.rule,
        fields=outcome.fields,
        differs=(note, *outcome.differs),
    )


def _short(name: str) -> str:
    """Return a name of a package; of two names never the same."""
    plain = re.sub(r"[^a-z0-9_]", "_", name.lower())
    if plain != name or len(plain) > _LONGEST or not plain[:1].isalpha():
        digest = hashlib.sha256(name.encode()).hexdigest()[:6]
        plain = f"g{plain}" if not plain[:1].isalpha() else plain
        return f"{plain[: _LONGEST - 7]}_{digest}"
    return plain


def names_of(outcomes: Sequence[ImportOutcome]) -> list[str]:
    """Return the ids of the rules that were made."""
    return [each.rule for each in outcomes if each.rule]
