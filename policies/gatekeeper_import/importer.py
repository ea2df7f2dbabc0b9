"""Carries Gatekeeper's ConstraintTemplates and Constraints over into a site's rules."""

import hashlib
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from core.base.errors import BundleRefusedError, SallyportError
from policies import BUILT_IN_REGO
from policies.build.builder import build
from policies.gatekeeper_import.adapter import CATEGORY, adapter, fields_of
from policies.gatekeeper_import.builtins import lacking
from policies.gatekeeper_import.constraint_match import Match, read_match
from policies.gatekeeper_import.declared_fields import needed
from policies.gatekeeper_import.documents import Document
from policies.gatekeeper_import.input_reads import follow
from policies.gatekeeper_import.parameter_schemas import against, filled, json_schema
from policies.gatekeeper_import.reading import Reading
from policies.gatekeeper_import.rego_conversion import Converted, converted
from policies.gatekeeper_import.report import Outcome
from policies.gatekeeper_import.shared_rego import SHARED_REGO
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

_LONGEST: Final = 40
"""Characters of a rule's name: that of its file must fit into a bundle."""

_UNUSED: Final = Match(action="deny", kinds=("Pod",))
"""Of a template without a Constraint."""


class Carried(msgspec.Struct):
    """What there is to write."""

    outcomes: list[Outcome] = []
    files: dict[str, str] = {}
    """Rego, by path below the folder of the site."""
    choices: dict[str, Choice] = {}
    """By rule id, as the rules file has it."""
    passed_over: int = 0


class _Ready(msgspec.Struct):
    template: Template
    name: str
    converted: Converted
    reading: Reading
    used: bool = False


def carry_over(opa: Path, documents: Iterable[Document]) -> Carried:
    """Make rules of all templates and Constraints that can be carried over.

    Each is refused for itself, with its place and the reason.
    """
    carried, templates, constraints = Carried(), [], []
    for document in documents:
        if is_template(document):
            templates.append(document)
        elif is_constraint(document):
            constraints.append(read_constraint(document))
        else:
            carried.passed_over += 1
    ready: dict[str, _Ready | None] = {}
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


def prove(opa: Path, carried: Carried) -> None:
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
    opa: Path, document: Document, ready: dict[str, _Ready | None], carried: Carried
) -> None:
    kind = "ConstraintTemplate"
    name = name_of(document)
    try:
        template = read_template(document)
        _check_new(template, ready)
        ready[template.kind] = None
        short = _short(template.name)
        made = converted(opa, template, short)
        reading = _followed(template, made)
    except BundleRefusedError as error:
        carried.outcomes.append(Outcome(kind, name, document.place, "refused", why=str(error)))
        return
    ready[template.kind] = _Ready(template, short, made, reading)
    carried.outcomes.append(Outcome(kind, name, document.place, "carried-over"))
    for file, text in made.texts.items():
        carried.files[f"{CATEGORY}/{short}/{file}"] = text


def _check_new(template: Template, ready: Mapping[str, object]) -> None:
    if template.kind in ready:
        raise BundleRefusedError(f"{template.place}: the template was read before: leave one")


def _check_builtins(opa: Path, ready: dict[str, _Ready | None], carried: Carried) -> None:
    """Refuse the templates that call what the engine lacks."""
    missing = lacking(opa, {kind: it.converted for kind, it in ready.items() if it})
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


def _index(carried: Carried, template: Template) -> int:
    return next(
        number
        for number, each in enumerate(carried.outcomes)
        if each.place == template.place and not each.refused
    )


def _followed(template: Template, made: Converted) -> Reading:
    try:
        reading = follow(made.trees)
        needed(reading, ["Pod"])
    except BundleRefusedError as error:
        raise BundleRefusedError(f"{template.policy.at(1)}: {error}") from error
    return reading


def _constraint(
    constraint: Constraint, ready: Mapping[str, _Ready | None], carried: Carried
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
        outcome = Outcome(constraint.kind, constraint.name, constraint.place, "refused", why=why)
    carried.outcomes.append(outcome)


def _rule(template: _Ready, constraint: Constraint, match: Match, carried: Carried) -> Outcome:
    name = _short(f"{template.name}_{constraint.name}")
    rule = f"{CATEGORY}/{name}"
    if rule in carried.choices:
        raise BundleRefusedError(f"{constraint.place}: the Constraint was read before: leave one")
    try:
        need = needed(template.reading, match.kinds)
    except BundleRefusedError as error:
        raise BundleRefusedError(f"{template.template.policy.at(1)}: {error}") from error
    of = (template.template, constraint)
    choice = _choice(template.template, constraint, match)
    text = adapter(name, template.converted.package, of, match, need)
    carried.files[f"{CATEGORY}/{name}.rego"] = text
    carried.choices[rule] = choice
    template.used = True
    return Outcome(
        constraint.kind,
        constraint.name,
        constraint.place,
        "carried-over",
        rule=f"rules/{rule}",
        differs=(*match.notes, *need.notes, *_notes(template.template, match)),
        fields=fields_of(need, match),
    )


def _choice(template: Template, constraint: Constraint, match: Match) -> Choice:
    given = filled(constraint.spec.get("parameters") or {}, template.schema)
    if wrong := against(given, json_schema(template.schema)):
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


def _alone(template: _Ready, carried: Carried) -> None:
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
    """Give a name of a package; of two names never the same."""
    plain = re.sub(r"[^a-z0-9_]", "_", name.lower())
    if plain != name or len(plain) > _LONGEST or not plain[:1].isalpha():
        digest = hashlib.sha256(name.encode()).hexdigest()[:6]
        plain = f"g{plain}" if not plain[:1].isalpha() else plain
        return f"{plain[: _LONGEST - 7]}_{digest}"
    return plain


def names_of(outcomes: Sequence[Outcome]) -> list[str]:
    """Give the ids of the rules that were made."""
    return [each.rule for each in outcomes if each.rule]
