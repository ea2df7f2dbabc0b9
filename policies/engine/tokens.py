"""Splits Rego into tokens: enough to give names of rules another name (merged.py), no more.

The grammar is OPA's (https://www.openpolicyagent.org/docs/policy-reference#grammar; its scanner is
v1/ast/internal/scanner/scanner.go). What it cannot split, OPA refuses too.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

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
