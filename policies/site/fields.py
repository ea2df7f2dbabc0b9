"""The fields of an object that a site's rules declare, and see besides the projection.

A rule names kinds and fields in its METADATA; what nobody declared is never copied. Some is never
shown to any rule: values of environment variables, commands, what secrets hold, and what differs
between the Pods of one gang by nothing but their number (else none would be judged for all).
"""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final, TypedDict

import msgspec

from core.base.errors import BundleRefusedError, EvaluationError
from policies.bundle.format import Rule

_STEP: Final = re.compile(
    r"(?:^|\.)([A-Za-z_][A-Za-z0-9_-]*)|\['([^'\[\]\x00-\x1f\x7f]{1,316})'\]|(\[\])"
)
ITEMS: Final = "[]"

Tree = dict[str, Any]
"""Of steps; a step that ends a declared field has None."""

_SCHEMA_HEAD: Final = {"$schema": "http://json-schema.org/draft-07/schema#"}

POD: Final = "Pod"
"""The kind of a rule that is asked about Pods, and about each Pod template of a workload."""

NO_FIELDS: Final = b"{}"

MOST_BYTES: Final = 256 * 1024
"""Of the declared fields of one object."""

_KIND: Final = re.compile(r"(?:[a-z0-9][a-z0-9.-]{0,252}/)?[A-Z][A-Za-z0-9]{0,62}")
_OURS: Final = "sallyport.dev/"
_HIDDEN: Final = frozenset({"status", "metadata.managedFields", "data", "binaryData", "stringData"})
"""Fields that nobody declares: noise, and what may hold secrets."""

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_NUMBERED: Final = frozenset(
    {
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-completion-index",
        "controller-uid",
        "job-index",
        "jobset.sigs.k8s.io/global-replica-index",
        "jobset.sigs.k8s.io/job-global-index",
        "jobset.sigs.k8s.io/job-index",
        "jobset.sigs.k8s.io/job-key",
        "jobset.sigs.k8s.io/restart-attempt",
        "statefulset.kubernetes.io/pod-name",
        "training.kubeflow.org/replica-index",
        _LAST_APPLIED,
        "banzaicloud.com/last-applied",
        "kapp.k14s.io/original",
        "objectset.rio.cattle.io/applied",
    }
)
"""Labels and annotations that controllers number Pods by, and copies of the whole object."""

_ENCODER: Final = msgspec.json.Encoder(order="deterministic")

_ENVIRONMENTS: Final = frozenset({"env", "envVars", "environment"})
"""Where kinds of all sorts have variables: as lists of names and values, or as objects."""

_SECRETIVE: Final = frozenset({"command", "args", "arguments", "httpHeaders"})
"""What people put passwords into."""


def steps_of(field: str) -> list[str]:
    """Return the steps of a field, `[]` for the elements of a list; none where it is no path."""
    steps, at = [], 0
    while at < len(field):
        found = _STEP.match(field, at)
        if found is None:
            return []
        steps.append(found[1] or found[2] or found[3])
        at = found.end()
    return steps if steps and steps[0] != ITEMS else []


def is_covered(field: str, declared: Iterable[str]) -> bool:
    """Return whether what was copied of an object by these declarations holds all of a field."""
    steps = steps_of(field)
    return any(steps[: len(outer)] == outer for outer in map(steps_of, declared) if outer)


def tree_of(fields: Iterable[str]) -> Tree:
    """Join fields: what contains another stands for both."""
    tree: Tree = {}
    for field in fields:
        *inner, last = steps_of(field)
        node = tree
        for step in inner:
            found = node.setdefault(step, {})
            if found is None:
                break
            node = found
        else:
            node[last] = None
    return tree


def shape_of(tree: Tree | None) -> Any:
    """Return the type of what a tree names: a value of another shape does not fit."""
    if tree is None:
        return Any
    if ITEMS in tree:
        return list[shape_of(tree[ITEMS])]  # type: ignore[misc]  # Made while it runs.
    steps = {step: shape_of(inner) | None for step, inner in tree.items()}
    return TypedDict("Shape", steps, total=False)  # type: ignore[operator]  # As above.


def schema_of(rules: Iterable[Rule]) -> dict[str, Any]:
    """Return the JSON Schema of all that these rules declare; a leaf may be anything."""
    fields = (field for rule in rules for field in rule.fields)
    return _SCHEMA_HEAD | _schema(tree_of(fields))


def _schema(tree: Tree | None) -> dict[str, Any]:
    if tree is None:
        return {}
    if ITEMS in tree:
        return {"type": "array", "items": _schema(tree[ITEMS])}
    properties = {step: _schema(inner) for step, inner in sorted(tree.items())}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def kind_name(group: str, kind: str) -> str:
    """Return a kind as rules name it: `Service`, `networking.k8s.io/Ingress`."""
    return f"{group}/{kind}" if group else kind


def check_declared(kinds: Iterable[str], fields: Iterable[str]) -> None:
    """Demand kinds that a rule may look at, and fields that it may read of each.

    Raises:
        ValueError: one is none; says why.
    """
    for kind in kinds:
        check_kind(kind)
        for field in fields:
            check_field(field, kind)


def check_kind(kind: str) -> None:
    """Demand a kind that a rule may look at: `Pod`, `Service`, `networking.k8s.io/Ingress`.

    Raises:
        ValueError: it is none; says why.
    """
    if not _KIND.fullmatch(kind):
        message = f"custom.kinds: {kind!r} is no kind: write Kind, or group/Kind"
        raise ValueError(message)
    if kind.startswith(_OURS):
        message = f"custom.kinds: {kind} is guarded by Sallyport itself, and by no site's rule"
        raise ValueError(message)


def check_field(field: str, kind: str) -> None:
    """Demand a field that a rule may read of a kind: `metadata.labels`, `spec.containers[].image`.

    Raises:
        ValueError: it is none; says why.
    """
    steps = steps_of(field)
    if not steps:
        message = f"custom.fields: {field!r} is no path: write spec.containers[].resources"
        raise ValueError(message)
    hidden = ".".join(steps[:2]), steps[0]
    if any(each in _HIDDEN for each in hidden):
        message = f"custom.fields: {field} of {kind} is shown to no rule"
        raise ValueError(message)
    if steps == ["metadata"]:
        message = "custom.fields: name what you read of metadata: metadata.labels"
        raise ValueError(message)


class DeclaredFields:
    """Knows what the rules of a bundle look at, by kind."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        """Take the rules of a site among `rules`.

        Raises:
            BundleRefusedError: one declares what no rule may look at: the build refuses that too,
                but a bundle need not come from it.
        """
        self._rules = [rule for rule in rules if rule.site and rule.id.startswith("rules/")]
        for rule in self._rules:
            try:
                check_declared(rule.kinds, rule.fields)
            except ValueError as error:
                message = f"{rule.id}: {error}: make the bundle with 'sallyport policy build'"
                raise BundleRefusedError(message) from error

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds that some rule is asked about."""
        return frozenset(kind for rule in self._rules for kind in rule.kinds)

    @cached_property
    def _trees(self) -> Mapping[str, Tree]:
        return {kind: tree_of(self._fields_of(kind)) for kind in self.kinds}

    def _fields_of(self, kind: str) -> Iterable[str]:
        return (field for rule in self._rules if kind in rule.kinds for field in rule.fields)

    def reads(self, kind: str) -> bool:
        """Return whether some rule that is asked about a kind reads a field of it."""
        return bool(self._trees.get(kind))

    def declared(self, kind: str) -> bytes:
        """Return the fields of a kind that some rule reads, as a JSON list."""
        return self._declared.get(kind, b"[]")

    @cached_property
    def _declared(self) -> Mapping[str, bytes]:
        return {kind: _ENCODER.encode(sorted(set(self._fields_of(kind)))) for kind in self.kinds}

    def fields_of(self, kind: str, raw: bytes | msgspec.Raw) -> bytes:
        """Return the declared fields of an object that is JSON, as `fields` does.

        Where it has the shape that they are declared for, nothing else of it is read into memory.

        Raises:
            EvaluationError: see `fields`.
            msgspec.DecodeError: it is no JSON object.
        """
        tree = self._trees.get(kind)
        if not tree:
            return NO_FIELDS
        try:
            value = self._decoders[kind].decode(raw)
        except msgspec.ValidationError:
            value = msgspec.json.decode(raw, type=dict)
        return self.fields(kind, value)

    @cached_property
    def _decoders(self) -> Mapping[str, msgspec.json.Decoder[Any]]:
        return {kind: msgspec.json.Decoder(shape_of(tree)) for kind, tree in self._trees.items()}

    def fields(self, kind: str, value: Mapping[str, Any]) -> bytes:
        """Return the declared fields of an object as JSON; equal ones give equal bytes.

        Raises:
            EvaluationError: they are larger, or nested deeper, than any rule is shown.
        """
        tree = self._trees.get(kind)
        if not tree:
            return NO_FIELDS
        try:
            found = _ENCODER.encode(_shown(value, tree))
        except (RecursionError, ValueError) as error:
            message = f"the fields that rules read of the {kind} cannot be copied: {error}"
            raise EvaluationError(message) from error
        if len(found) > MOST_BYTES:
            message = f"the fields that rules read of the {kind} take more than {MOST_BYTES} bytes"
            raise EvaluationError(message)
        return found


NO_DECLARED_FIELDS: Final = DeclaredFields(())
"""Of a bundle without a site's rules."""


def _shown(value: Any, tree: Tree | None) -> Any:
    """Copy what a tree names of a value, without what no rule is shown."""
    if tree is None:
        return _open(value)
    if isinstance(value, list):
        return [_shown(each, tree[ITEMS]) for each in value] if ITEMS in tree else []
    if not isinstance(value, Mapping):
        return None
    found = {}
    for step, inner in tree.items():
        if value.get(step) is not None and step not in _NUMBERED:
            found[step] = _part(step, value[step], inner)
    return found


def _part(step: str, value: Any, inner: Tree | None) -> Any:
    if step in _ENVIRONMENTS:
        value = _names_of(value)
    return [] if step in _SECRETIVE else _shown(value, inner)


def _names_of(value: Any) -> Any:
    """Return variables without their values."""
    if isinstance(value, Mapping):
        return dict.fromkeys(value, "")
    if not isinstance(value, list):
        return ""
    return [
        _without(each, "value") if isinstance(each, Mapping) else _names_of(each) for each in value
    ]


def _open(value: Any) -> Any:
    """Copy a value whole, without what no rule is shown."""
    if isinstance(value, list):
        return [_open(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    kept = {key: each for key, each in value.items() if each is not None and key not in _NUMBERED}
    return {key: _part(key, each, None) for key, each in kept.items() if key != "managedFields"}


def _without(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return {k: v for k, v in value.items() if k != key}
