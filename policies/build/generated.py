"""Writes the Rego that joins a site's rules to `judge`, and hands them their parameters."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from policies.site.choices import Choice
from policies.site.metadata import Written

_HEAD: Final = """\
# Written by `sallyport policy build`. Where any of it is undefined, so is the answer.
package sallyport.site

known if {
	count(input.needs) >= 0
	count(input.projection.containers) >= 0
	count(input.fields) >= 0
	is_string(input.kind)
}

holds(kinds, namespaces, excluded) if {
	input.kind in kinds
	named(namespaces)
	not within(excluded)
}

named(namespaces) if count(namespaces) == 0

named(namespaces) if within(namespaces)

within(namespaces) if {
	some pattern in namespaces
	glob.match(pattern, [], input.context.namespace)
}
"""

_SET: Final = "\n{name} := {{\n{entries}}} if known\n"
_PARAMETERS: Final = """\
# Written by `sallyport policy build`: what the site chose.
package sallyport.parameters
"""

Chosen = tuple[Written, Choice]


def joined(chosen: Sequence[Chosen]) -> str:
    """Give the package `sallyport.site`: for each rule what it finds, where it holds."""
    return _HEAD + "".join(
        _SET.format(name=name, entries="".join(_entries(chosen, set_)))
        for name, set_ in (("signals", "signals"), ("denials", "deny"), ("warnings", "warn"))
    )


def _entries(chosen: Iterable[Chosen], name: str) -> Iterable[str]:
    for written, choice in chosen:
        if name in written.sets:
            _, family, rule = written.rule.id.split("/")
            found = f"data.sallyport.{_AREAS[name]}.{family}.{rule}.{name}"
            if name != "signals":
                found = f"[entry | {_where(written, choice)}; some entry in {found}]"
            yield f'\t"{family}/{rule}": {found},\n'


_AREAS: Final = {"signals": "sandbox", "deny": "rules", "warn": "rules"}


def _where(written: Written, choice: Choice) -> str:
    lists = (written.rule.kinds, choice.namespaces, choice.excluded_namespaces)
    return f"holds({', '.join(json.dumps(each) for each in lists)})"


def parameters(values: Mapping[str, Mapping[str, Any]]) -> str:
    """Give the package `sallyport.parameters`, by category and name of the rule."""
    lines = [_PARAMETERS]
    for rule, given in sorted(values.items()):
        category, name = rule.removeprefix("rules/").split("/")
        written = ", ".join(f"{json.dumps(key)}: {_open(given[key])}" for key in sorted(given))
        lines.append(f"\n{category}.{name} := {{{written}}}\n")
    return "".join(lines)


def _open(value: Any) -> str:
    """Write a value so that OPA's type checker knows its sort and not what is in it.

    Else a list that happens to be empty, or whose items happen to lack an optional key, makes the
    rule that reads it an error. A parameter that does not exist stays one.
    """
    text = json.dumps(value, sort_keys=True)
    if isinstance(value, list):
        return f"array.concat([], {text})"
    return f"object.union({{}}, {text})" if isinstance(value, dict) else text
