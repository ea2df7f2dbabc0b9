"""Puts all of a bundle's Rego into one module, which an OPA server takes in one step.

A server takes one module at a time, and compiles all that it has with each: the 113 built-in ones
took it 16 s, in which it had some of them. In one module a revision is there or it is not.

Each rule gets a name of its own: `needs` of the third package becomes `s3_needs`, wherever the name
stands in that package, also where it is a variable's: so what hides what is as it was. What is
named through an import or `data` is found by its package, and what cannot be found is refused. See
docs/adr/0052-an-opa-server-as-the-engine.md. Rego is split into tokens for that, by OPA's grammar.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from core.base.errors import BundleRefusedError
from policies.bundle.format import JUDGE, NEEDS, Bundle

Sort = Literal["space", "comment", "text", "raw", "template", "number", "name", "mark"]

_TOKEN: Final = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<comment>\#[^\n]*)"
    r'|(?P<template>\$(?:"(?:[^"\\\n]|\\.)*"|`[^`]*`))'
    r'|(?P<text>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<raw>`[^`]*`)"
    r"|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<mark>.)",
    re.DOTALL,
)

OPENING: Final = frozenset("([{")
CLOSING: Final = frozenset(")]}")

ASKED: Final = {NEEDS: "asked_needs", JUDGE: "asked_judge"}
"""The rules of the merged module that answer, by entry point."""

PUSHED_AT: Final = "pushed_at"
"""The rule that says when the module was put there, in seconds since 1970."""

ROOT_PREFIX: Final = "sallyport_"
"""With which the package of every merged module begins."""

_Path = tuple[str, ...]
_KEYWORDS: Final = frozenset(
    {"as", "contains", "data", "default", "else", "every", "false", "if", "import", "in", "input"}
    | {"not", "null", "package", "some", "true", "with"}
)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NO_PACKAGES: Final = (("rego",), ("future",))
"""What an import of them says is so in every bundle."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of Rego; all of a text's pieces together are the text."""

    sort: Sort
    text: str
    line: int
    """Counted from 1."""


def tokens(text: str) -> Iterator[Token]:
    """Yield a text's tokens, in order."""
    line = 1
    for found in _TOKEN.finditer(text):
        sort: Sort = found.lastgroup  # type: ignore[assignment]  # The groups are the sorts.
        yield Token(sort, found[0], line)
        line += found[0].count("\n")


@dataclass(frozen=True)
class SingleModule:
    """All of a bundle's Rego as one module."""

    root: str
    """Its package: of its revision and its text alone."""
    text: str
    prefix: str
    """With which the names of the bundle's rules begin."""
    lines: Sequence[str] = field(repr=False)
    """Of each line, the file and the line in the bundle; empty of those that are in none."""

    def place(self, line: int) -> str:
        """Return file and line in the bundle of a line, counted from 1."""
        return self.lines[line - 1] if 0 < line <= len(self.lines) else ""


@dataclass
class _Source:
    file: str
    tokens: list[Token]
    package: _Path = ()
    imports: dict[str, _Path] = field(default_factory=dict)
    body: int = 0
    """Where what follows the imports begins."""

    def refuse(self, token: Token, problem: str) -> BundleRefusedError:
        return BundleRefusedError(
            f"{self.file}:{token.line}: {problem}; or let the OPA server load the bundle itself "
            "(evaluation.opa.push: false)"
        )


def build_single_module(bundle: Bundle, pushed_at: int = 0) -> SingleModule:
    """Make one module of a bundle's sources.

    Raises:
        BundleRefusedError: something in them cannot be carried over; the message has the place.
    """
    sources = [_source(file, text) for file, text in sorted(bundle.sources.items())]
    packages = sorted({source.package for source in sources})
    names: dict[_Path, set[str]] = {package: set() for package in packages}
    for source in sources:
        names[source.package].update(token.text for _, token in _heads(source))
    prefix = _unused(sources)
    flat = {
        (package, name): f"{prefix}{number}_{name}"
        for number, package in enumerate(packages)
        for name in names[package]
    }
    revision = json.dumps(bundle.revision)
    digest = hashlib.sha256(b"".join(map(_digested, sources))).hexdigest()[:12]
    root = f"{ROOT_PREFIX}{bundle.revision}_{digest}"
    lines = [f"package {root}", f"{PUSHED_AT} := {pushed_at}"]
    for entrypoint, asked in ASKED.items():
        *package, name = entrypoint.split("/")
        if (found := flat.get((tuple(package), name))) is None:
            raise BundleRefusedError(f"the bundle has no entry point {entrypoint}")
        lines.append(f'{asked} := {{"revision": {revision}, "answers": [it | it := {found}]}}')
    places = [""] * len(lines)
    for source in sources:
        text = "".join(_Writer(source, root, flat, names).written())
        written = text.split("\n")
        lines += written
        places += [f"{source.file}:{number}" for number in range(1, len(written) + 1)]
    return SingleModule(root, "\n".join(lines) + "\n", prefix, places)


def _source(file: str, text: str) -> _Source:
    source = _Source(file, list(tokens(text)))
    seen = list(_seen(source))
    at = 0
    while at < len(seen) and seen[at][1].text in {"package", "import"}:
        _, token = seen[at]
        path, after = _path(seen, at + 1)
        alias = path[-1] if path else ""
        if after < len(seen) and seen[after][1].text == "as":
            alias, after = seen[after + 1][1].text, after + 2
        if token.text == "package":
            source.package = path
        elif path[:1] == ("data",) and len(path) > 1:
            source.imports[alias] = path[1:]
        elif path[:1] not in _NO_PACKAGES:
            raise source.refuse(token, f"'import {'.'.join(path)}': name it in full where it is")
        at = after
        source.body = seen[at][0] if at < len(seen) else len(source.tokens)
    if not source.package:
        raise BundleRefusedError(f"{file}: does not begin with its package")
    return source


def _seen(source: _Source, start: int = 0) -> Iterator[tuple[int, Token]]:
    """Yield what is neither space nor comment, with where it is."""
    for index in range(start, len(source.tokens)):
        if source.tokens[index].sort not in {"space", "comment"}:
            yield index, source.tokens[index]


def _path(seen: Sequence[tuple[int, Token]], at: int) -> tuple[_Path, int]:
    """Read `a.b["c"]` from a place on; give its parts, and where it ends."""
    parts: list[str] = []
    if at < len(seen) and seen[at][1].sort == "name":
        parts.append(seen[at][1].text)
        at += 1
    while (step := _step(seen, at)) is not None:
        part, at = step
        parts.append(part)
    return tuple(parts), at


def _step(seen: Sequence[tuple[int, Token]], at: int) -> tuple[str, int] | None:
    """Read `.b` or `["b"]`; None where there is neither, or the key is no name."""
    if not 0 < at < len(seen) or seen[at][0] != seen[at - 1][0] + 1:
        return None
    texts = [token.text for _, token in seen[at : at + 3]]
    if len(texts) > 1 and texts[0] == "." and seen[at + 1][1].sort == "name":
        return texts[1], at + 2
    if texts[:1] == ["["] and texts[2:] == ["]"] and seen[at + 1][1].sort == "text":
        key = json.loads(texts[1])
        return (key, at + 3) if _NAME.fullmatch(key) else None
    return None


def _heads(source: _Source) -> Iterator[tuple[int, Token]]:
    """Yield the first name of each rule: what begins a line outside of all brackets."""
    depth, begins, before = 0, True, ""
    for index in range(source.body, len(source.tokens)):
        token = source.tokens[index]
        if token.sort == "space":
            begins = begins or "\n" in token.text
        elif token.sort != "comment":
            named = token.sort == "name" and token.text not in _KEYWORDS
            if named and not depth and (begins or before == "default"):
                yield index, token
            depth += (token.text in OPENING) - (token.text in CLOSING)
            begins, before = False, token.text


def _unused(sources: Sequence[_Source]) -> str:
    """Return a beginning that no name in the sources has."""
    used = {token.text for source in sources for token in source.tokens if token.sort == "name"}
    prefix = "s"
    while any(re.match(rf"{prefix}\d", name) for name in used):
        prefix += "s"
    return prefix


def _digested(source: _Source) -> bytes:
    text = "".join(token.text for token in source.tokens)
    return hashlib.sha256(f"{source.file}\0{text}".encode()).digest()


class _Writer:
    """Writes one file with the names that its rules have in the merged module."""

    def __init__(
        self,
        source: _Source,
        root: str,
        flat: Mapping[tuple[_Path, str], str],
        names: Mapping[_Path, set[str]],
    ) -> None:
        self._source = source
        self._root = root
        self._flat = flat
        self._names = names
        self._seen = list(_seen(source, source.body))
        self._patterns = set(self._in_patterns())

    def written(self) -> Iterator[str]:
        """Yield the text, as many lines as the file has, without package, imports and comments."""
        source, done = self._source, 0
        places = {index: number for number, (index, _) in enumerate(self._seen)}
        for index, token in enumerate(source.tokens):
            if index < source.body or token.sort == "comment":
                yield "\n" * token.text.count("\n")
            elif index >= done:
                number = places.get(index)
                if number is None or token.sort != "name":
                    self._refuse_template(token)
                    yield token.text
                else:
                    text, after = self._named(number)
                    done = self._seen[after - 1][0] + 1
                    kept = "".join(each.text for each in source.tokens[index:done])
                    yield text + "\n" * kept.count("\n")

    def _named(self, number: int) -> tuple[str, int]:
        """Return what stands for a name, and the number of the first token that it does not."""
        _, token = self._seen[number]
        if number and self._seen[number - 1][1].text == ".":
            return token.text, number + 1
        if token.text == "data":
            path, after = _path(self._seen, number)
            return self._found(token, path[1:], number, after)
        local = self._flat.get((self._source.package, token.text))
        imported = self._source.imports.get(token.text)
        if local and imported:
            raise self._source.refuse(token, f"{token.text!r} is a rule and an import: rename one")
        if imported:
            path, after = _path(self._seen, number)
            return self._found(token, (*imported, *path[1:]), number, after)
        return local or token.text, number + 1

    def _found(self, token: Token, path: _Path, number: int, after: int) -> tuple[str, int]:
        """Return the full name of what a path leads to; the rest of it stays as it is."""
        for length in range(len(path) - 1, 0, -1):
            name = self._flat.get((path[:length], path[length]))
            if name is not None:
                if number in self._patterns:
                    break
                rest = "".join(f'["{part}"]' for part in path[length + 1 :])
                return f"data.{self._root}.{name}{rest}", after
        shown = ".".join(("data", *path))
        raise self._source.refuse(
            token, f"{shown} is no rule of the bundle, or it is named where a variable stands"
        )

    def _in_patterns(self) -> Iterator[int]:
        """Yield the numbers of what stands between the parentheses of a function's head."""
        places = {index: number for number, (index, _) in enumerate(self._seen)}
        for index, _ in _heads(self._source):
            _, at = _path(self._seen, places[index])
            if at < len(self._seen) and self._seen[at][1].text == "(":
                depth = 0
                for number in range(at, len(self._seen)):
                    text = self._seen[number][1].text
                    depth += (text in OPENING) - (text in CLOSING)
                    yield number
                    if not depth:
                        break

    def _refuse_template(self, token: Token) -> None:
        if token.sort == "template":
            raise self._source.refuse(token, "a template string: write it with sprintf")
