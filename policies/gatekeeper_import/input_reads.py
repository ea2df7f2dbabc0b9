"""Finds which places of its input a policy reads, by following its references.

It errs on one side: what it cannot follow, it takes as read. Nothing is evaluated.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from core.base.errors import BundleRefusedError
from policies.gatekeeper_import.rego_values import (
    NOTHING,
    InputPath,
    Items,
    Path,
    Text,
    Value,
    collection,
    only_constants,
    places,
    step,
    whole,
)
from policies.gatekeeper_import.syntax import (
    Expression,
    Rule,
    Term,
    Tree,
    constant_path,
    package_of,
    rules_of,
)

Package = tuple[str, ...]

T = TypeVar("T")

_DEEPEST: Final = 60
"""Calls in calls."""

_PATTERNS: Final = frozenset({"var", "array", "object"})
_BINDING: Final = frozenset({"assign", "eq"})
_MEMBERS: Final = frozenset({"internal.member_2", "internal.member_3"})
_JOINING: Final = frozenset(
    [
        "array.concat",
        "array.reverse",
        "array.slice",
        "object.union",
        "object.union_n",
        "sort",
        "union",
        "or",
    ]
)
"""Functions that give what they are given."""

_MEASURING: Final = frozenset(
    [
        "count",
        "is_array",
        "is_boolean",
        "is_null",
        "is_number",
        "is_object",
        "is_set",
        "is_string",
        "type_name",
    ]
)
"""Functions that look at no more than how many there are, or of which type."""

_PASSES: Final = 20


class _Module:
    def __init__(self) -> None:
        self.rules: dict[str, list[Rule]] = {}
        self.imports: dict[str, list[Term]] = {}


class RuleNames:
    """Resolves names, from the trees of all files."""

    def __init__(self, trees: Sequence[Tree]) -> None:
        self._modules: dict[Package, _Module] = {}
        for tree in trees:
            module = self._modules.setdefault(package_of(tree), _Module())
            for rule in rules_of(tree):
                name = str(rule["head"]["ref"][0]["value"])
                module.rules.setdefault(name, []).append(rule)
            for each in tree.get("imports") or []:
                parts = each["path"]["value"]
                module.imports[each.get("alias") or str(parts[-1]["value"])] = parts

    def rules(self, package: Package, name: str) -> list[Rule]:
        """Return the clauses of a rule; none where there is no such rule."""
        module = self._modules.get(package)
        return module.rules.get(name, []) if module else []

    def arity(self, package: Package, name: str) -> int:
        """Return the number of a function's arguments."""
        rules = self.rules(package, name)
        return len(rules[0]["head"].get("args") or []) if rules else 0

    def resolve(
        self, package: Package, parts: Sequence[Term]
    ) -> tuple[Package, str, Sequence[Term]] | None:
        """Return package and name of the rule that a reference begins with, and the rest of it."""
        head = str(parts[0]["value"])
        module = self._modules[package]
        if head in module.rules:
            return package, head, parts[1:]
        if head in module.imports:
            parts = [*module.imports[head], *parts[1:]]
        if parts[0]["value"] != "data":
            return None
        names = constant_path(list(parts)).split(".")[1:]
        for end in range(len(names), 0, -1):
            found = self._modules.get(tuple(names[: end - 1]))
            if found and names[end - 1] in found.rules:
                return tuple(names[: end - 1]), names[end - 1], parts[end + 1 :]
        return None

    def imported(self, package: Package, head: str) -> list[Term]:
        """Return the path of an imported name, where it is a part of the input."""
        parts = self._modules[package].imports.get(head, [])
        return parts if parts and parts[0]["value"] == "input" else []


class InputReads:
    """What was read."""

    def __init__(self) -> None:
        self.whole: set[Path] = set()
        """Paths of which all that lies below counts."""
        self.seen: set[Path] = set()
        """Paths of which it counts whether there is something; one that ends in "", how much."""

    def add(self, other: "InputReads") -> None:
        """Count what another one has, too."""
        self.whole |= other.whole
        self.seen |= other.seen


class Follower:
    """Follows rules and functions, and notes what they read."""

    def __init__(self, trees: Sequence[Tree]) -> None:
        self.reading = InputReads()
        """What has been read so far."""
        self._known: dict[tuple[Any, ...], tuple[Value, InputReads]] = {}
        self._depth = 0
        self.names = RuleNames(trees)

    def read(self, value: Value) -> None:
        """Note that all in a value is read."""
        self.reading.whole |= whole(value)

    def called(self, package: Package, name: str, given: tuple[Value, ...]) -> Value:
        """Return the possible values of a rule; of a function, with these arguments."""
        key = (package, name, given)
        if key not in self._known:
            self._known[key] = (NOTHING, InputReads())
            self._known[key] = self.apart(lambda: self._evaluated(package, name, given))
        value, reading = self._known[key]
        self.reading.add(reading)
        return value

    def apart(self, work: Callable[[], T]) -> tuple[T, InputReads]:
        """Return the result of some work, and its reads, which do not count yet."""
        before, self.reading = self.reading, InputReads()
        self._depth += 1
        if self._depth > _DEEPEST:
            raise BundleRefusedError("its calls lie too deep to be followed")
        try:
            return work(), self.reading
        finally:
            self.reading = before
            self._depth -= 1

    def _evaluated(self, package: Package, name: str, given: tuple[Value, ...]) -> Value:
        rules = self.names.rules(package, name)
        found = [Clause(self, package, rule, given).value() for rule in rules]
        joined: Value = frozenset().union(*found)
        return joined


_Scope = dict[str, dict[int, Value]]
"""For each variable what it may be, by the expression that says so."""


class Clause:
    """One clause of a rule, with its arguments."""

    def __init__(
        self, follower: Follower, package: tuple[str, ...], rule: Rule, given: Sequence[Value]
    ) -> None:
        self._follower, self._package, self._rule = follower, package, rule
        self._scope: _Scope = {}
        for pattern, value in zip(rule["head"].get("args") or [], given, strict=False):
            self._bind(pattern, value, self._scope, declares=True)

    def value(self) -> Value:
        """Return the possible values of its head."""
        scope = self._body(self._rule.get("body") or [], self._scope)
        head = self._rule["head"]
        key = self._term(head["key"], scope) if "key" in head else None
        value = self._term(head["value"], scope) if "value" in head else None
        for part in head["ref"][1:]:
            self._follower.read(self._term(part, scope))
        if key is None or len(head["ref"]) > 1:
            given = NOTHING if value is None else value
            return given if len(head["ref"]) == 1 else collection([given])
        if value is None:
            return collection([key])
        self._follower.read(key)
        return collection([value])

    def _body(self, body: Sequence[Expression], outer: _Scope) -> _Scope:
        scope = {name: dict(sites) for name, sites in outer.items()}
        reading = InputReads()
        for _ in range(_PASSES):
            before = {name: dict(sites) for name, sites in scope.items()}
            _, reading = self._follower.apart(lambda: self._pass(body, scope))
            if scope == before:
                break
        else:
            raise BundleRefusedError("its variables depend on one another in too many ways")
        self._follower.reading.add(reading)
        return scope

    def _pass(self, body: Sequence[Expression], scope: _Scope) -> None:
        for expression in body:
            self._expression(expression, scope)

    def _expression(self, expression: Expression, scope: _Scope) -> None:
        if expression.get("with"):
            raise BundleRefusedError("replaces its input or functions by `with`: write it without")
        terms = expression["terms"]
        if isinstance(terms, list):
            self._see(self._call(terms, scope))
        elif "symbols" in terms:
            for each in terms["symbols"]:
                if each["type"] == "call":
                    self._call(each["value"], scope)
        elif "domain" in terms:
            inner = {name: dict(sites) for name, sites in scope.items()}
            members = step(self._term(terms["domain"], scope), NOTHING, constant=False)
            self._see(members)
            self._bind(terms["value"], members, inner, declares=True)
            self._body(terms["body"], inner)
        else:
            self._see(self._term(terms, scope))

    def _see(self, value: Value) -> None:
        self._follower.reading.seen |= places(value)

    def _term(self, term: Term, scope: _Scope) -> Value:
        kind, value = term["type"], term["value"]
        if kind == "string":
            found: Value = frozenset({Text(value)})
        elif kind == "var":
            found = self._reference([term], scope)
        elif kind == "ref":
            found = self._reference(value, scope)
            self._see(found)
        elif kind == "call":
            found = self._call(value, scope)
        else:
            found = self._made(kind, value, scope)
        return found

    def _made(self, kind: str, value: Any, scope: _Scope) -> Value:
        """Return the possible values of a collection that the policy makes."""
        if kind in {"array", "set"}:
            return collection([self._term(each, scope) for each in value])
        if kind == "object":
            for key, _ in value:
                self._follower.read(self._term(key, scope))
            return collection([self._term(each, scope) for _, each in value])
        if kind.endswith("comprehension"):
            inner = self._body(value["body"], scope)
            if "key" in value:
                self._follower.read(self._term(value["key"], inner))
            return collection([self._term(value.get("term") or value["value"], inner)])
        if kind == "templatestring":
            for each in value["parts"]:
                self._follower.read(self._term(each.get("terms", each), scope))
        return NOTHING

    def _reference(self, parts: Sequence[Term], scope: _Scope) -> Value:
        head = parts[0]
        rest: Sequence[Term]
        if head["type"] != "var":
            value, rest = self._term(head, scope), parts[1:]
        elif head["value"] in scope:
            value, rest = _all(scope[head["value"]]), parts[1:]
        elif head["value"] == "input":
            value, rest = frozenset({InputPath(())}), parts[1:]
        elif stands := self._follower.names.imported(self._package, str(head["value"])):
            value, rest = frozenset({InputPath(())}), [*stands[1:], *parts[1:]]
        elif resolved := self._follower.names.resolve(self._package, parts):
            package, name, rest = resolved
            value = self._follower.called(package, name, ())
        else:
            return NOTHING
        for part in rest:
            value = self._stepped(value, part, scope)
        return value

    def _stepped(self, value: Value, part: Term, scope: _Scope) -> Value:
        key = self._term(part, scope)
        constant = only_constants(key)
        found = step(value, key, constant=constant)
        if part["type"] in _PATTERNS and not places(value):
            self._bind(part, found, scope)
        elif not constant:
            self._follower.read(key)
        return found

    def _call(self, terms: Sequence[Term], scope: _Scope) -> Value:
        operator, *arguments = terms
        name = constant_path(operator["value"])
        if name in _BINDING:
            self._equate(arguments[0], arguments[1], scope, declares=name == "assign")
            return NOTHING
        if name in _MEMBERS:
            return self._member(arguments, scope)
        resolved = self._follower.names.resolve(self._package, operator["value"])
        if resolved and not resolved[2]:
            package, rule, _ = resolved
            given = [self._term(each, scope) for each in arguments]
            arity = self._follower.names.arity(package, rule)
            found = self._follower.called(package, rule, tuple(given[:arity]))
            for pattern in arguments[arity:]:
                self._bind(pattern, found, scope)
            return found
        return self._builtin(name, arguments, scope)

    def _equate(self, left: Term, right: Term, scope: _Scope, *, declares: bool) -> None:
        """Let what is a pattern on one side stand for what is on the other one."""
        first, second = self._term(left, scope), self._term(right, scope)
        if declares or left["type"] in _PATTERNS:
            self._bind(left, second, scope, declares=declares)
        if not declares and right["type"] in _PATTERNS:
            self._bind(right, first, scope)
        if not {left["type"], right["type"]} & _PATTERNS:
            self._follower.read(first | second)

    def _member(self, arguments: Sequence[Term], scope: _Scope) -> Value:
        *keys, member, among = arguments
        members = step(self._term(among, scope), NOTHING, constant=False)
        self._see(members)
        self._bind(member, members, scope, declares=True)
        for key in keys:
            self._bind(key, NOTHING, scope, declares=True)
        return NOTHING

    def _builtin(self, name: str, arguments: Sequence[Term], scope: _Scope) -> Value:
        given = [self._term(each, scope) for each in arguments]
        if name == "object.get":
            return self._got(arguments, given, scope)
        if name in _MEASURING:
            for value in given:
                self._follower.reading.seen |= {(*path, "") for path in places(value)}
                self._follower.read(frozenset(atom for atom in value if isinstance(atom, Items)))
            return NOTHING
        if name in _JOINING:
            joined: Value = frozenset().union(*given)
            return joined
        for value in given:
            self._follower.read(value)
        return NOTHING

    def _got(self, arguments: Sequence[Term], given: Sequence[Value], scope: _Scope) -> Value:
        key = arguments[1]
        parts = key["value"] if key["type"] == "array" else [key]
        value = given[0]
        for part in parts:
            value = self._stepped(value, part, scope)
        self._see(value)
        return value | given[2]

    def _bind(self, pattern: Term, value: Value, scope: _Scope, *, declares: bool = False) -> None:
        """Let the variables of a pattern stand for a value; what is no variable is compared."""
        kind = pattern["type"]
        if kind == "var" and (declares or not self._names(pattern, scope)):
            sites = scope.setdefault(str(pattern["value"]), {})
            sites[id(pattern)] = value
            if len(sites) > 1:
                self._follower.read(_all(sites))
        elif kind == "array":
            for each in pattern["value"]:
                inner = step(value, NOTHING, constant=False)
                self._bind(each, inner, scope, declares=declares)
        elif kind == "object":
            for key, each in pattern["value"]:
                self._bind(each, self._stepped(value, key, scope), scope, declares=declares)
        elif kind != "var" or value:
            self._follower.read(value)
            self._follower.read(self._term(pattern, scope))

    def _names(self, pattern: Term, scope: _Scope) -> bool:
        """Return whether a variable is the name of a rule, an import or the input."""
        name = str(pattern["value"])
        if name in scope:
            return False
        found = self._follower.names.resolve(self._package, [pattern])
        return name == "input" or found is not None


def _all(sites: Mapping[int, Value]) -> Value:
    joined: Value = frozenset().union(*sites.values())
    return joined


def follow(trees: Sequence[Tree], rule: str = "violation") -> InputReads:
    """Return the reads of a rule of the first of the trees.

    Raises:
        BundleRefusedError: it replaces its input (`with`), or is too deep to be followed.
    """
    follower = Follower(trees)
    follower.read(follower.called(package_of(trees[0]), rule, ()))
    return follower.reading
