"""Puts the files of a new rule or signal together, and writes them over nothing."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from core.base.errors import SettingsError
from policies import BUILT_IN_REGO, LIBRARY
from policies.authoring.scaffold import rego_templates
from policies.authoring.scaffold.sample_objects import (
    object_with_field,
    object_without_field,
    plain_object,
)
from policies.site.fields import check_field, check_kind, steps_of

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")
_ITEMS: Final = "[]"
DEFAULT_FIELD: Final = "metadata.labels['example.com/{name}']"
"""Of a rule of which no field was named: the label that is called as the rule is."""

_PAGE: Final = """\
# {title}

Say here what the {what} looks for, and why. `{name}.rego` says what it sees.

| | |
|---|---|
| Rule id | `{id}` |
{rows}
Cases: [{bad}](cases/{bad}.yaml), [{good}](cases/{good}.yaml). To try them:

```sh
sallyport policy lint FOLDER
sallyport policy test FOLDER
```
"""


class ScaffoldRequest(msgspec.Struct, frozen=True):
    """What is to be made."""

    id: str
    """`CATEGORY/NAME`."""
    kind: str = "Pod"
    field: str = ""
    signal: bool = False

    @property
    def parts(self) -> tuple[str, str]:
        """Category and name."""
        category, _, name = self.id.partition("/")
        return category, name


def files_of(request: ScaffoldRequest) -> dict[str, str]:
    """Return the files by path, from the folder of rules on.

    Raises:
        SettingsError: the name, the kind or the field is none that a rule may have.
    """
    _check_name(request)
    made = _signal(request) if request.signal else _rule(request)
    return {f"{request.id}/{path}": text for path, text in made.items()}


def write(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write the files; none where one is there already.

    Raises:
        SettingsError: one is there; nothing was written.
    """
    paths = [folder / path for path in files]
    for path in paths:
        if path.exists() or path.is_symlink():
            message = f"{path} is there already: give another name, or another --into FOLDER"
            raise SettingsError(message)
    for path, text in zip(paths, files.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x") as file:
            file.write(text)
    return paths


def _check_name(request: ScaffoldRequest) -> None:
    category, name = request.parts
    if not (_NAME.fullmatch(category) and _NAME.fullmatch(name)):
        message = f"{request.id}: write CATEGORY/NAME, in letters a-z, digits and _: labels/team"
        raise SettingsError(message)
    area = "sandbox" if request.signal else "rules"
    if (BUILT_IN_REGO / area / request.id).exists():
        raise SettingsError(f"{request.id}: there is a built-in one: give another name")
    if not request.signal and (LIBRARY / request.id).exists():
        raise SettingsError(
            f"{request.id}: the library has it: choose it with --rules FILE, or give another name"
        )


def _rule(request: ScaffoldRequest) -> dict[str, str]:
    category, name = request.parts
    field = request.field or DEFAULT_FIELD.format(name=name)
    while field.endswith(_ITEMS):
        field = field.removesuffix(_ITEMS)
    try:
        check_kind(request.kind)
        check_field(field, request.kind)
    except ValueError as error:
        flag = "--kind" if "custom.kinds" in str(error) else "--field"
        text = str(error).replace("custom.kinds: ", "").replace("custom.fields: ", "")
        raise SettingsError(f"{flag}: {text}") from error
    steps = steps_of(field)
    path = rego_templates.place_of(steps)
    finding = {"rule": f"rules/{request.id}", "path": path}
    kind = request.kind.rpartition("/")[2]
    one = f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind}"
    why = f"Say here why {one} must have {field}."
    refused = {"name": f"{one} without {field} is refused", "why": why}
    admitted = {"name": f"{one} with {field} is admitted", "why": why}
    rows = f"| Kinds | `{request.kind}` |\n| Fields | `{field}` |\n"
    return {
        f"{name}.rego": rego_templates.rule_rego(category, name, request.kind, field, steps),
        f"{name}_test.rego": rego_templates.rule_tests(category, name, request.kind, steps),
        f"{name}.md": _page(request, rows, "refused", "admitted"),
        "cases/refused.yaml": _case(
            refused,
            {
                "object": object_without_field(request.kind, steps),
                "expect": "deny",
                "findings": [finding],
            },
        ),
        "cases/admitted.yaml": _case(
            admitted, {"object": object_with_field(request.kind, steps), "expect": "allow"}
        ),
    }


def _signal(request: ScaffoldRequest) -> dict[str, str]:
    if request.field or request.kind != "Pod":
        raise SettingsError("--signal: a signal looks at Pods and declares no field")
    family, name = request.parts
    label = rego_templates.label_of(name)
    why = f"Say here why the label {label} makes a Pod riskier."
    labelled = {"namespace": {"name": "example", "labels": {label: "example"}}}
    counted = [{"rule": f"sandbox/{request.id}", "path": ""}]
    return {
        f"{name}.rego": rego_templates.signal_rego(family, name),
        f"{name}_test.rego": rego_templates.signal_tests(family, name),
        f"{name}.md": _page(request, "", "riskier", "ordinary"),
        "cases/riskier.yaml": _case(
            {"name": f"a Pod where the namespace has {label} is riskier", "why": why},
            {"object": plain_object("Pod"), **labelled, "expect": "allow", "signals": counted},
        ),
        "cases/ordinary.yaml": _case(
            {"name": f"a Pod where it has no {label} is not", "why": why},
            {"object": plain_object("Pod"), "expect": "allow", "signals": []},
        ),
    }


def _case(said: Mapping[str, Any], rest: Mapping[str, Any]) -> str:
    return yaml.safe_dump({**said, **rest}, sort_keys=False, width=100)


def _page(request: ScaffoldRequest, rows: str, bad: str, good: str) -> str:
    name = request.parts[1]
    return _PAGE.format(
        title=f"{name.replace('_', ' ').capitalize()} ({request.parts[0]})",
        what="signal" if request.signal else "rule",
        name=name,
        id=f"{'sandbox' if request.signal else 'rules'}/{request.id}",
        rows=rows,
        bad=bad,
        good=good,
    )
