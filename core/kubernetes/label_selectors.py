"""Label selectors (meta/v1 LabelSelector): read, applied, and compared. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal

import msgspec

from core.base.errors import InvalidObjectError
from core.kubernetes.names import is_subdomain

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist"]

_VALUE: Final = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")


class Requirement(msgspec.Struct, frozen=True, order=True, gc=False):
    """One thing demanded of labels. `values` are sorted, and only `In` and `NotIn` have any."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels are as demanded (apimachinery pkg/labels, Requirement.Matches)."""
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case _:
                return self.key not in labels

    def written(self) -> dict[str, Any]:
        """Return it as an entry of `matchExpressions`."""
        head: dict[str, Any] = {"key": self.key, "operator": self.operator}
        return {**head, "values": list(self.values)} if self.values else head


Requirements = tuple[Requirement, ...]
"""All of them together; sorted. None of them: every object."""


class Expression(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of `matchExpressions`, as it is written."""

    key: Annotated[str, msgspec.Meta(max_length=317)]
    operator: Operator
    values: Annotated[list[str], msgspec.Meta(max_length=64)] | None = None


class LabelSelector(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A label selector, as it is written."""

    match_labels: Annotated[dict[str, str], msgspec.Meta(max_length=16)] | None = None
    match_expressions: Annotated[list[Expression], msgspec.Meta(max_length=16)] | None = None


def requirements_of(selector: LabelSelector | None, *, field: str, what: str) -> Requirements:
    """Return what a selector demands; nothing of one that is absent or empty.

    Raises:
        InvalidObjectError: a key, value or operator cannot be (apimachinery
            pkg/apis/meta/v1/validation, ValidateLabelSelector).
    """
    if selector is None:
        return ()
    found = []
    for key, value in (selector.match_labels or {}).items():
        path = f"{field}.matchLabels[{key}]"
        _check(key, (value,), path, what)
        found.append(Requirement(key, "In", (value,)))
    for index, each in enumerate(selector.match_expressions or ()):
        path = f"{field}.matchExpressions[{index}]"
        values = tuple(sorted(set(each.values or ())))
        _check(each.key, values, path, what)
        if (each.operator in {"In", "NotIn"}) != bool(values):
            wanted = "needs values" if not values else "takes no values: remove them"
            raise InvalidObjectError(what, f"{path}.values", f"{each.operator} {wanted}")
        found.append(Requirement(each.key, each.operator, values))
    return sort_requirements(found)


def sort_requirements(requirements: Iterable[Requirement]) -> Requirements:
    """Return requirements sorted, each once."""
    return tuple(sorted(set(requirements)))


def matches(requirements: Requirements, labels: Mapping[str, str]) -> bool:
    """Return whether labels are as all of them demand."""
    return all(each.matches(labels) for each in requirements)


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Return whether a LabelSelector, as kube-apiserver stores it, selects labels."""
    said = selector or {}
    demanded = (
        *(Requirement(key, "In", (each,)) for key, each in (said.get("matchLabels") or {}).items()),
        *(
            Requirement(each["key"], each["operator"], tuple(each.get("values") or ()))
            for each in said.get("matchExpressions") or ()
        ),
    )
    return matches(demanded, labels)


def build_selector(requirements: Requirements) -> dict[str, Any]:
    """Return them as a LabelSelector; the empty one, which selects all, for none."""
    if not requirements:
        return {}
    return {"matchExpressions": [each.written() for each in requirements]}


def implies(narrow: Requirements, wide: Requirements) -> bool:
    """Return whether all labels that `narrow` matches are sure to be matched by `wide` too.

    What it says is right; of few it does not see that they are implied, and says no.
    """
    return all(any(_implies(has, wanted) for has in narrow) for wanted in wide)


def _implies(has: Requirement, wanted: Requirement) -> bool:
    if has.key != wanted.key:
        return False
    match wanted.operator:
        case "In":
            return has.operator == "In" and set(has.values) <= set(wanted.values)
        case "NotIn":
            if has.operator == "In":
                return not set(has.values) & set(wanted.values)
            absent = has.operator == "DoesNotExist"
            return absent or (has.operator == "NotIn" and set(wanted.values) <= set(has.values))
        case "Exists":
            return has.operator in {"In", "Exists"}
        case _:
            return has.operator == "DoesNotExist"


def may_overlap(one: Requirements, other: Requirements) -> bool:
    """Return whether some labels may match both.

    That they cannot is said only where it is sure.
    """
    return not any(
        _excludes(each, wanted) or _excludes(wanted, each) for each in one for wanted in other
    )


def _excludes(has: Requirement, wanted: Requirement) -> bool:
    """Return whether no labels that match `has` match `wanted`."""
    if has.key != wanted.key or has.operator not in {"In", "Exists"}:
        return False
    if wanted.operator == "DoesNotExist":
        return True
    if has.operator == "Exists":
        return False
    if wanted.operator == "In":
        return not set(has.values) & set(wanted.values)
    return wanted.operator == "NotIn" and set(has.values) <= set(wanted.values)


def is_label_value(text: str) -> bool:
    """Return whether a text can be the value of a label."""
    return _VALUE.fullmatch(text) is not None


def is_label_key(text: str) -> bool:
    """Return whether a text can be the key of a label: `[prefix/]name`."""
    prefix, slash, name = text.rpartition("/")
    if slash and not is_subdomain(prefix):
        return False
    return _NAME.fullmatch(name) is not None


def _check(key: str, values: Iterable[str], path: str, what: str) -> None:
    if not is_label_key(key):
        raise InvalidObjectError(what, path, f"{key!r} cannot be the key of a label")
    for value in values:
        if not is_label_value(value):
            raise InvalidObjectError(what, path, f"{value!r} cannot be the value of a label")
