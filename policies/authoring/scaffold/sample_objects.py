"""Objects for the cases of a new rule: with a field, and without it."""

import copy
import types
import typing
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from core.kubernetes.pod import Pod

_ITEMS: Final = "[]"
_TEXT: Final = "example"
_POD_SPEC: Final = {"containers": [{"name": "main", "image": "registry.example/app:1.0"}]}
_TEMPLATE: Final = {
    "metadata": {"labels": {"app": _TEXT}},
    "spec": {**_POD_SPEC, "restartPolicy": "Always"},
}
_JOB_TEMPLATE: Final = {"spec": {**_POD_SPEC, "restartPolicy": "Never"}}
_REPLICATED: Final = {"selector": {"matchLabels": {"app": _TEXT}}, "template": _TEMPLATE}
_SPECS: Final[dict[str, dict[str, Any]]] = {
    "Pod": _POD_SPEC,
    "apps/Deployment": _REPLICATED,
    "apps/DaemonSet": _REPLICATED,
    "apps/ReplicaSet": _REPLICATED,
    "apps/StatefulSet": {**_REPLICATED, "serviceName": _TEXT},
    "batch/Job": {"template": _JOB_TEMPLATE},
    "batch/CronJob": {
        "schedule": "0 3 * * *",
        "jobTemplate": {"spec": {"template": _JOB_TEMPLATE}},
    },
}
"""What the kinds must have whose Pods are judged too."""


def plain_object(kind: str) -> dict[str, Any]:
    """Return an object of a kind, with no more than it must have."""
    group, _, name = kind.rpartition("/")
    made: dict[str, Any] = {
        "apiVersion": f"{group}/v1" if group else "v1",
        "kind": name,
        "metadata": {"name": _TEXT},
    }
    if kind in _SPECS:
        made["spec"] = copy.deepcopy(_SPECS[kind])
    return made


def object_without_field(kind: str, steps: Sequence[str]) -> dict[str, Any]:
    """Return an object without a field, but with the elements of lists that would have it."""
    lists = [number for number, step in enumerate(steps) if step == _ITEMS]
    made = plain_object(kind)
    if lists:
        _put(made, steps[: lists[-1] + 1], {})
    return made


def object_with_field(kind: str, steps: Sequence[str]) -> dict[str, Any]:
    """Return an object with a field."""
    made = plain_object(kind)
    _put(made, steps, sample_value(kind, steps))
    return made


def _put(value: Any, steps: Sequence[str], leaf: Any) -> Any:
    """Set a field in each element of the lists on its way, which have at least one."""
    if not steps:
        return leaf if value is None else value
    step, rest = steps[0], steps[1:]
    if step == _ITEMS:
        return [_put(each, rest, leaf) for each in value or [None]]
    value = {} if value is None else value
    value[step] = _put(value.get(step), rest, leaf)
    return value


def sample_value(kind: str, steps: Sequence[str]) -> Any:
    """Return a value that a field may have; of Pods by the type that is read of them."""
    known: Any = Pod if kind == "Pod" else None
    for step in steps:
        known = _inner(known, step)
    return _TEXT if known is None else _of(known)


def _inner(known: Any, step: str) -> Any:
    """Return the type of a field of a type; None where nothing is known."""
    known = _plainly(known)
    if step == _ITEMS or typing.get_origin(known) is dict:
        arguments = typing.get_args(known)
        return arguments[-1] if arguments else None
    if isinstance(known, type) and issubclass(known, msgspec.Struct):
        fields = msgspec.structs.fields(known)
        return next((each.type for each in fields if each.encode_name == step), None)
    return None


def _plainly(known: Any) -> Any:
    """Return a type without `| None`."""
    if typing.get_origin(known) in {types.UnionType, typing.Union}:
        return next(each for each in typing.get_args(known) if each is not types.NoneType)
    return known


def _of(known: Any) -> Any:
    known = _plainly(known)
    origin = typing.get_origin(known)
    if origin is list:
        return [_of(typing.get_args(known)[0])]
    if origin is dict:
        return {_TEXT: _TEXT}
    if known is bool:
        return True
    if known in {int, float}:
        return 1
    return _TEXT if known is str else {}
