"""Writes the rule of a site that gives a template's Rego the input that it was written for."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

import yaml

from policies.gatekeeper_import.constraint_match import Match
from policies.gatekeeper_import.declared_fields import NeededFields
from policies.gatekeeper_import.parameter_schemas import json_schema
from policies.gatekeeper_import.shared_rego import SHARED
from policies.gatekeeper_import.templates import Constraint, Template
from policies.site.kubernetes_kinds import cluster_scoped

CATEGORY: Final = "gatekeeper"
"""Of all rules that are carried over."""

_SCHEMAS: Final = ("input: schema.judge", "input.projection: schema.projection")
_RULE: Final = """\
deny contains {{"path": path, "value": "", "message": message}} if {{
{conditions}	given := {{"review": review, "parameters": chosen}}
	some found in data.{package}.violation with input as given
	message := shared.message(found)
	path := shared.path(found, {path})
}}
"""


Of = tuple[Template, Constraint]


def fields_of(needed: NeededFields, match: Match) -> tuple[str, ...]:
    """Return the fields that the rule must declare: read by the policy, or by its match."""
    found = set(needed.fields)
    if match.labels or (match.namespace_labels and "Namespace" in match.kinds):
        found.add("metadata.labels")
    in_namespaces = not match.by_file and (match.namespaces or match.excluded)
    if in_namespaces or match.name or "name" in needed.review:
        found.add("metadata.name")
    if "kind" in needed.review and set(match.kinds) != {"Pod"}:
        found.add("apiVersion")
    return tuple(sorted(found))


def adapter(name: str, package: str, of: Of, match: Match, needed: NeededFields) -> str:
    """Return the text of the rule; `package` is that of the template's Rego."""
    fields = fields_of(needed, match)
    conditions = "".join(f"\t{line}\n" for line in _conditions(match))
    parts = [
        _metadata(*of, match, fields),
        f"package sallyport.rules.{CATEGORY}.{name}\n\n",
        f"import data.{SHARED}\n\n",
        _RULE.format(conditions=conditions, package=package, path=json.dumps(_common(fields))),
        f"\nchosen := data.sallyport.parameters.{CATEGORY}.{name}.parameters\n",
        *_review(needed, has_fields=bool(fields)),
        _here(match),
        *_place(match),
    ]
    return "".join(parts)


def _metadata(
    template: Template, constraint: Constraint, match: Match, fields: Iterable[str]
) -> str:
    fields = list(fields)
    schema = json_schema(template.schema) | {"default": {}}
    schemas = [*_SCHEMAS, *(["input.fields: schema.fields"] if fields else [])]
    said: dict[str, Any] = {
        "scope": "package",
        "title": template.title,
        "description": template.description,
        "schemas": [dict([each.split(": ")]) for each in schemas],
        "custom": {
            "severity": "medium",
            "message": f"is not as {constraint.name} demands it"[:200],
            "remedy": f"Change what the message names: {template.description}"[:4000],
            "kinds": list(match.kinds),
            "fields": fields,
            "parameters": {"parameters": schema},
        },
    }
    text = yaml.safe_dump(said, sort_keys=False, width=80, allow_unicode=True)
    return "# METADATA\n" + "".join(f"# {line}\n" for line in text.splitlines())


def _conditions(match: Match) -> Iterator[str]:
    if match.scope == "Cluster":
        yield 'here == ""'
    elif match.scope == "Namespaced":
        yield 'here != ""'
    if match.labels:
        yield f"shared.selects({_constant(match.labels)}, labels)"
    if match.namespace_labels:
        yield "in_selected"
    if match.name:
        yield f"glob.match({json.dumps(match.name)}, null, name)"
    if not match.by_file:
        if match.namespaces:
            yield f"shared.within(namespace, {_constant(match.namespaces)})"
        if match.excluded:
            yield f"shared.outside(namespace, {_constant(match.excluded)})"


def _place(match: Match) -> Iterator[str]:
    """Yield the rules that the conditions name."""
    conditions = "\n".join(_conditions(match))
    of_namespaces = match.namespace_labels and "Namespace" in match.kinds
    if match.labels or of_namespaces:
        yield '\nlabels := object.get(input.fields, ["metadata", "labels"], {})\n'
    if match.name or "(namespace," in conditions:
        yield '\nname := object.get(input.fields, ["metadata", "name"], "")\n'
    if "(namespace," in conditions:
        yield "\nnamespace := shared.namespace(input.kind, name, here)\n"
    if match.namespace_labels:
        yield from _selected(_constant(match.namespace_labels), match)


def _selected(selector: str, match: Match) -> Iterator[str]:
    own = "Namespace" in match.kinds
    if own:
        yield (
            '\nin_selected if {\n\tinput.kind == "Namespace"\n'
            f"\tshared.selects({selector}, labels)\n}}\n"
        )
    if not match.by_file:
        yield ('\nin_selected if {\n\tinput.kind != "Namespace"\n\there == ""\n}\n')
    other = '\tinput.kind != "Namespace"\n' if own else ""
    yield (
        f'\nin_selected if {{\n{other}\there != ""\n'
        f"\tshared.selects({selector}, input.context.namespaceLabels)\n}}\n"
    )


def _review(needed: NeededFields, *, has_fields: bool) -> Iterator[str]:
    """Yield `review`: the object and what of the request the policy reads. It is always defined."""
    parts = [
        '"object": shared.object_of(input, fields, here)',
        '"operation": input.context.operation',
    ]
    if "kind" in needed.review:
        parts.append('"kind": shared.kind_of(input.kind, fields)')
    if "name" in needed.review:
        parts.append('"name": object.get(fields, ["metadata", "name"], "")')
    if "groups" in needed.review:
        parts.append('"userInfo": {"groups": input.context.groups}')
    joined = "".join(f"\t{each},\n" for each in parts)
    base = f"{{\n{joined}}}"
    if "namespace" in needed.review:
        yield f"\nreview := object.union({base}, shared.namespace_of(here))\n"
    else:
        yield f"\nreview := {base}\n"
    yield f"\nfields := {'input.fields' if has_fields else '{}'}\n"


def _here(match: Match) -> str:
    """Return `here`, the object's namespace; empty where its kind lies in none."""
    if outside := cluster_scoped(match.kinds):
        kinds = _constant(outside)
        return f'\nhere := "" if input.kind in {kinds}\n\nelse := input.context.namespace\n'
    return "\nhere := input.context.namespace\n"


def _constant(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _common(fields: Iterable[str]) -> str:
    """Return the field that all lie in: where to look, if the policy does not say."""
    paths = [field.replace("[]", ".[]").split(".") for field in fields if not field.endswith("']")]
    paths = [path for path in paths if path not in (["apiVersion"], ["metadata", "name"])]
    common: list[str] = []
    for steps in zip(*paths, strict=False):
        if len(set(steps)) > 1:
            break
        common.append(steps[0])
    return ".".join(common[: common.index("[]")] if "[]" in common else common)
