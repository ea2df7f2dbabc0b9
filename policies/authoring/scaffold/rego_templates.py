"""The Rego of a new rule (an object must have a field) or signal (a namespace has a label)."""

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from policies.authoring.scaffold.sample_objects import object_with_field, object_without_field

LABEL: Final = "example.com/{name}"

_SIGNAL: Final = """\
# METADATA
# scope: package
# title: {title}
# description: >-
#   Say here what makes such a Pod riskier, and why it should run in a sandbox.
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# custom:
#   points: 25
#   message: works on {{value}}
#   remedy: Run it in a namespace without the label {label}.
package sallyport.sandbox.{family}.{name}

signals contains {{"path": "", "value": value}} if {{
	value := input.context.namespaceLabels["{label}"]
}}
"""

_SIGNAL_TEST: Final = """\
package sallyport.sandbox.{family}.{name}_test

import data.sallyport.sandbox.{family}.{name}

labelled := {{"context": {{"namespaceLabels": {{"{label}": "example"}}}}}}

test_counts_with_the_label if {{
	{name}.signals == {{{{"path": "", "value": "example"}}}} with input as labelled
}}

test_nothing_counts_without if {{
	{name}.signals == set() with input as {{"context": {{"namespaceLabels": {{}}}}}}
}}
"""


def label_of(name: str) -> str:
    """Return the label that the signal looks for."""
    return LABEL.format(name=name.replace("_", "-"))


def signal_rego(family: str, name: str) -> str:
    """Return the file of a signal."""
    title = f"{name.replace('_', ' ').capitalize()} ({family})"
    return _SIGNAL.format(title=title, family=family, name=name, label=label_of(name))


def signal_tests(family: str, name: str) -> str:
    """Return the file of a signal's Rego tests."""
    return _SIGNAL_TEST.format(family=family, name=name, label=label_of(name))


_ITEMS: Final = "[]"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_RULE: Final = """\
# METADATA
# scope: package
# title: {title}
# description: >-
#   Say here what goes wrong without {field}, and for whom.
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: medium
#   message: has no {{value}}
#   remedy: Set {field}.
#   kinds: [{kind}]
#   fields: [{quoted}]
package sallyport.rules.{category}.{name}
{imports}
deny contains {{"path": {path}, "value": {last}}} if {{
{body}
}}
"""

_RULE_TEST: Final = """\
package sallyport.rules.{category}.{name}_test

import data.sallyport.rules.{category}.{name}

test_refused_without if {{
	{name}.deny == {{{{"path": {place}, "value": {last}}}}} with input as {without}
}}

test_admitted_with if {{
	{name}.deny == set() with input as {within}
}}
"""


def rule_rego(category: str, name: str, kind: str, field: str, steps: Sequence[str]) -> str:
    """Return the file of a rule."""
    lists, last = _split(steps)
    body = []
    parts = []
    value = "input.fields"
    for number, inner in enumerate(lists):
        index, item = (f"{word}{number or ''}" for word in ("index", "item"))
        body.append(f"\tsome {index}, {item} in {_ref(value, inner)}")
        parts.append(f"lib.indexed({json.dumps(_path(inner))}, {index})")
        value = item
    body.append(f"\tnot {_ref(value, last)}")
    path = json.dumps(_path(last))
    if parts:
        body.append(f'\tpath := concat(".", [{", ".join([*parts, path])}])')
        path = "path"
    return _RULE.format(
        title=f"{name.replace('_', ' ').capitalize()} ({category})",
        category=category,
        name=name,
        kind=kind,
        field=field,
        quoted=json.dumps(field),
        imports="\nimport data.sallyport.lib\n" if parts else "",
        path=path,
        last=json.dumps(_path(last)),
        body="\n".join(body),
    )


def rule_tests(category: str, name: str, kind: str, steps: Sequence[str]) -> str:
    """Return the file of a rule's Rego tests."""
    _, last = _split(steps)
    return _RULE_TEST.format(
        category=category,
        name=name,
        place=json.dumps(place_of(steps)),
        last=json.dumps(_path(last)),
        without=_literal({"fields": excerpt(object_without_field(kind, steps), steps)}),
        within=_literal({"fields": excerpt(object_with_field(kind, steps), steps)}),
    )


def place_of(steps: Sequence[str]) -> str:
    """Name the field in the first element of each list on its way, as findings do."""
    lists, last = _split(steps)
    return ".".join([*(f"{_path(inner)}[0]" for inner in lists), _path(last)])


def _split(steps: Sequence[str]) -> tuple[list[list[str]], list[str]]:
    """Return the ways into each list, and the way from the last one to the field."""
    ways: list[list[str]] = [[]]
    for step in steps:
        if step == _ITEMS:
            ways.append([])
        else:
            ways[-1].append(step)
    return ways[:-1], ways[-1]


def _ref(value: str, steps: Sequence[str]) -> str:
    return value + "".join(
        f".{step}" if _NAME.fullmatch(step) else f"[{json.dumps(step)}]" for step in steps
    )


def _path(steps: Sequence[str]) -> str:
    """Name a field as findings do: `metadata.labels['example.com/team']`."""
    text = "".join(f".{step}" if _NAME.fullmatch(step) else f"['{step}']" for step in steps)
    return text.removeprefix(".")


def excerpt(value: Any, steps: Sequence[str]) -> Any:
    """Return of an object only what lies on the way to a field."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if step == _ITEMS:
        return [excerpt(each, rest) for each in value]
    if not isinstance(value, dict) or step not in value:
        return {}
    return {step: excerpt(value[step], rest)}


def _literal(value: Any) -> str:
    """Write a value as `opa fmt` does one that stands on one line."""
    return json.dumps(value, ensure_ascii=False)
