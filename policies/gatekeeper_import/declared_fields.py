"""Says which fields a rule must declare for what its policy reads, and what it may not read."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from core.base.errors import BundleRefusedError
from policies.bundle.format import Rule
from policies.gatekeeper_import.input_reads import InputReads
from policies.gatekeeper_import.rego_values import ANY, Path
from policies.site.fields import DeclaredFields, check_field
from policies.site.kubernetes_kinds import LISTS, are_built_in

_OBJECT: Final = ("review", "object")
_GIVEN: Final = frozenset({"kind", "operation", "namespace", "name"})
_METADATA: Final = (
    "annotations",
    "finalizers",
    "generateName",
    "labels",
    "name",
    "ownerReferences",
)
_TOP: Final = (
    *(f"metadata.{each}" for each in _METADATA),
    *[
        "apiVersion",
        "automountServiceAccountToken",
        "handler",
        "imagePullSecrets",
        "parameters",
        "ports",
        "provisioner",
        "reclaimPolicy",
        "roleRef",
        "rules",
        "secrets",
        "spec",
        "subjects",
        "subsets",
        "type",
        "value",
        "webhooks",
    ],
)
"""What is declared where a policy looks at the whole object."""

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_HOLDERS: Final = frozenset(
    [
        "containers",
        "env",
        "ephemeralContainers",
        "initContainers",
        "lifecycle",
        "livenessProbe",
        "readinessProbe",
        "spec",
        "startupProbe",
        "template",
    ]
)
"""Fields below which there is something that no rule is shown."""

_MARK: Final = "seen"

_MOST: Final = 40
_LONGEST: Final = 200
"""Of the fields that a rule may declare, with room for those that say where it holds."""


class NeededFields(msgspec.Struct, frozen=True):
    """What a policy needs of its input."""

    fields: tuple[str, ...]
    review: frozenset[str]
    """Parts of `input.review` besides the object: kind, operation, namespace, name, groups."""
    notes: tuple[str, ...]
    """What of it may differ from what Gatekeeper shows."""


def needed_fields(reading: InputReads, kinds: Sequence[str]) -> NeededFields:
    """Return the fields to declare for rules that are asked about these kinds.

    Raises:
        BundleRefusedError: it reads what no rule is shown; names it.
    """
    review: set[str] = set()
    fields: set[str] = set()
    notes: set[str] = set()
    for path in sorted(_leaves(reading)):
        if path[:2] == _OBJECT:
            declared = list(_fields(path[2:], kinds))
            fields.update(declared)
            quiet = path[-1] == ""
            notes.update(note for each in declared if not quiet for note in _notes(each))
        elif path[:1] != ("parameters",):
            review.update(_of_review(path))
    return NeededFields(_joined(fields), frozenset(review), tuple(sorted(notes)))


def _leaves(reading: InputReads) -> set[Path]:
    """Return the paths that are read whole, and those of which only the presence is read."""
    found = reading.whole | reading.seen
    inner = {path[:end] for path in found for end in range(len(path))}
    return reading.whole | (reading.seen - inner)


def _of_review(path: Path) -> Iterable[str]:
    part = path[1] if len(path) > 1 and path[0] == "review" else ""
    if part in _GIVEN:
        return [part]
    if part == "userInfo" and path[2:3] == ("groups",):
        return ["groups"]
    called = ".".join(("input", *path)).rstrip(".")
    if part == "oldObject":
        why = "a rule sees what an object becomes, not what it was"
    elif part == "userInfo":
        why = "a rule sees who asks by their groups (input.review.userInfo.groups), not their names"
    else:
        why = "no rule is shown that"
    raise BundleRefusedError(f"reads {called}: {why}")


def _fields(path: Path, kinds: Sequence[str]) -> Iterable[str]:
    """Yield the fields for one place of the object."""
    steps = [each for each in path if each != ""]
    if steps[:1] in (["kind"], ["apiVersion"]) or steps == ["metadata", "namespace"]:
        yield from (["apiVersion"] if steps == ["apiVersion"] else [])
        return
    if not steps or steps[0] == ANY:
        yield from _TOP
    elif steps == ["metadata"] or steps[:2] == ["metadata", ANY]:
        yield from (f"metadata.{each}" for each in _METADATA)
    else:
        yield _field(steps, kinds)


def _field(steps: Sequence[str], kinds: Sequence[str]) -> str:
    known = are_built_in(kinds)
    written, place = "", "object"
    kept: list[str] = []
    for number, each in enumerate(steps):
        if each == ANY:
            if not (known and number and steps[number - 1] in LISTS):
                break
            written += "[]"
        elif _PLAIN.fullmatch(each):
            written += f".{each}"
        elif not re.fullmatch(r"[^'\[\]]{1,316}", each):
            break
        else:
            written += f"['{each}']"
        kept.append(each)
    field = written.removeprefix(".").removesuffix("[]")
    place = ".".join(("input.review.object", *steps)).replace(f".{ANY}", "[_]")
    for kind in kinds:
        try:
            check_field(field, kind)
        except ValueError as error:
            why = f"{kind}: {error}".replace("custom.fields: ", "")
            raise BundleRefusedError(f"reads {place}: {why}") from error
        if not _shown(steps, len(kept), field, kind):
            raise BundleRefusedError(f"reads {place}, which is shown to no rule")
    return field


def _shown(steps: Sequence[str], kept: int, field: str, kind: str) -> bool:
    """Return whether what lies at the steps is shown to a rule that declares the field."""
    value: Any = _MARK
    for number in range(len(steps) - 1, -1, -1):
        listed = steps[number] == ANY and (number < kept or _is_list(steps, number))
        value = [value] if listed else {steps[number].replace(ANY, "any"): value}
    rule = Rule(
        id="rules/import/probe",
        title="",
        description="",
        message="",
        remedy="",
        since=1,
        site=True,
        kinds=[kind],
        fields=[field],
    )
    return _MARK in json.dumps(json.loads(DeclaredFields([rule]).fields(kind, value)))


def _is_list(steps: Sequence[str], number: int) -> bool:
    return number > 0 and steps[number - 1] in LISTS


def _notes(field: str) -> Iterable[str]:
    last = re.sub(r"\[\]$", "", field).rpartition(".")[2]
    if last in _HOLDERS:
        yield (
            f"looks at {field} as a whole: values of environment variables, commands, arguments "
            "and HTTP headers in it are not shown"
        )


def _above(field: str) -> str:
    """Return the field that contains one: `spec`, `metadata.labels`."""
    steps = re.split(r"\.|\[", field)
    return ".".join(steps[:2]) if steps[0] == "metadata" else steps[0]


def _joined(fields: Iterable[str]) -> tuple[str, ...]:
    """Leave out what lies in another one."""
    found = set(fields)
    if len(found) > _MOST or any(len(field) > _LONGEST for field in found):
        found = {_above(field) for field in found}
    return tuple(
        sorted(
            field
            for field in found
            if not any(field != it and field.startswith((f"{it}.", f"{it}[")) for it in found)
        )
    )
