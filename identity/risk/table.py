"""The table that says what risk does: the site's rows, then the shipped ones; the first counts.

The site's rows are read from YAML, strictly: a slip of the pen is refused, with a fix. The format
is described, with an example, in `docs/operate/risk-table.md`.
"""

import difflib
import enum
import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any, Final, TypeVar

import msgspec

from core.base.errors import InvalidObjectError
from core.risk.model import Effect, OperationClass, Role, Standing
from identity.risk.principals import GUID
from identity.risk.shipped_rows import SHIPPED_ROWS
from identity.risk.table_rows import ALL_OPERATIONS, ALL_ROLES, ALL_STANDINGS, SANDBOXED, RiskRow
from kube.manifests.strict_yaml import YamlError, load_all

FORMAT: Final = 1

MOST_BYTES: Final = 64 * 1024
"""So that it fits into the head of the snapshot, which is one Secret."""

MOST_ROWS: Final = 256
MOST_WORDS: Final = 256
"""Words of one field."""

MOST_MESSAGE: Final = 200

LABEL_VALUE: Final = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?", re.ASCII)
"""What a label may hold (k8s.io/apimachinery pkg/util/validation, IsValidLabelValue)."""

CONFIG_MAP: Final = "sallyport-risk-table"
"""Name of the ConfigMap, in Sallyport's namespace, that holds the site's table …"""

CONFIG_MAP_KEY: Final = "table.yaml"
"""… under this key."""

_RESERVED: Final = ("shipped/", "namespace/")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,62}", re.ASCII)
_LISTS: Final = ("standings", "operations", "namespaces", "roles", "groups")
_KEYS: Final = ("name", *_LISTS, "effect", "message")
_LONGEST_QUOTE: Final = 60
_REQUESTERS: Final = frozenset({Role.REQUESTER})

_Word = TypeVar("_Word", Standing, OperationClass, Role, Effect)

_Cell = tuple[Standing, OperationClass, Role]
_OTHERWISE: Final = SHIPPED_ROWS[-1][0]


def read_rows(text: str, what: str) -> tuple[RiskRow, ...]:
    """Return the rows of a site's table.

    Raises:
        InvalidObjectError: it is broken; the message names the field and the fix.
    """
    document = _load(text, what)
    _known_keys(document, ("format", "rows"), what, "")
    found = document.get("format")
    if found != FORMAT or isinstance(found, bool):
        raise InvalidObjectError(what, "format", f"must be {FORMAT}: this release reads no other")
    listed = document.get("rows")
    if not isinstance(listed, list):
        raise InvalidObjectError(what, "rows", "must be a list: write the rows below it, each -")
    if len(listed) > MOST_ROWS:
        raise InvalidObjectError(what, "rows", f"{len(listed)} rows: leave {MOST_ROWS}")
    rows = tuple(_RowReader(what, f"rows[{at}]").read(each) for at, each in enumerate(listed))
    _check_together(rows, what)
    _check_size(len(write_rows(rows).encode()), what)
    return rows


def write_rows(rows: Sequence[RiskRow]) -> str:
    """Write rows so that `read_rows` gives them again: no comments, which may name people."""
    written = [_written(row) for row in rows]
    return msgspec.json.encode({"format": FORMAT, "rows": written}).decode()


def _written(row: RiskRow) -> dict[str, str | list[str]]:
    every: dict[str, str | list[str]] = {"name": row.name, "effect": row.effect.value}
    for key, words, full in (
        ("standings", row.standings, ALL_STANDINGS),
        ("operations", row.operations, ALL_OPERATIONS),
        ("roles", row.roles, ALL_ROLES),
    ):
        if words != full:
            every[key] = sorted(each.value for each in words)
    if row.namespaces is not None:
        every["namespaces"] = sorted(row.namespaces)
    if row.groups:
        every["groups"] = sorted(row.groups)
    return every | ({"message": row.message} if row.message else {})


def _check_size(size: int, what: str) -> None:
    if size > MOST_BYTES:
        raise InvalidObjectError(what, "", f"{size} bytes: shorten it to {MOST_BYTES}")


def _load(text: str, what: str) -> dict[str, Any]:
    _check_size(len(text.encode()), what)
    try:
        documents = [value for _, value in load_all(text)]
    except YamlError as error:
        where = f"line {error.line}" if error.line else ""
        raise InvalidObjectError(what, where, error.problem) from error
    if len(documents) != 1 or not isinstance(documents[0], dict):
        problem = "must be one YAML document with the keys format and rows"
        raise InvalidObjectError(what, "", problem)
    return documents[0]


class _RowReader:
    """Reads one row; `place` is its path."""

    def __init__(self, what: str, place: str) -> None:
        self._what = what
        self._place = place

    def read(self, given: object) -> RiskRow:
        if not isinstance(given, dict):
            raise self._wrong("", f"must be a map with the keys {', '.join(_KEYS)}")
        _known_keys(given, _KEYS, self._what, self._place)
        lists = {key: self._texts(given[key], key) for key in _LISTS if key in given}
        row = RiskRow(
            name=self._name(given.get("name")),
            effect=self._word(Effect, given.get("effect"), "effect"),
            standings=self._words(Standing, lists, "standings"),
            operations=self._words(OperationClass, lists, "operations"),
            roles=self._words(Role, lists, "roles"),
            namespaces=self._namespaces(lists),
            groups=self._groups(lists),
            message=self._message(given.get("message", "")),
        )
        return self._checked(row)

    def _checked(self, row: RiskRow) -> RiskRow:
        """Refuse what would mean nothing, and narrow a row of groups to those who ask."""
        if row.effect is Effect.SANDBOX and not row.operations <= SANDBOXED:
            fix = "name operations of create-workload and exec only, or choose another effect"
            raise self._wrong("operations", f"nothing else runs in a sandbox: {fix}")
        if not row.groups or row.roles == _REQUESTERS:
            return row
        if row.roles != ALL_ROLES:
            fix = "write roles: [requester], or leave the groups out"
            raise self._wrong("roles", f"groups are known only of who asks: {fix}")
        return RiskRow(
            name=row.name,
            effect=row.effect,
            standings=row.standings,
            operations=row.operations,
            roles=_REQUESTERS,
            namespaces=row.namespaces,
            groups=row.groups,
            message=row.message,
        )

    def _name(self, given: object) -> str:
        if not isinstance(given, str) or not _NAME.fullmatch(given):
            raise self._wrong("name", "must be text of up to 63 letters, digits and . _ / -")
        if given.startswith(_RESERVED):
            raise self._wrong("name", "begins as Sallyport's own rows do: choose another")
        return given

    def _message(self, given: object) -> str:
        if not isinstance(given, str) or len(given) > MOST_MESSAGE or not given.isprintable():
            raise self._wrong("message", f"must be one line of up to {MOST_MESSAGE} characters")
        return given

    def _texts(self, given: object, key: str) -> list[str]:
        if not isinstance(given, list) or not given:
            raise self._wrong(key, "must be a list that is not empty; leave it out for any")
        if len(given) > MOST_WORDS:
            raise self._wrong(key, f"{len(given)} words: shorten it to {MOST_WORDS}")
        for at, each in enumerate(given):
            if not isinstance(each, str):
                raise self._wrong(f"{key}[{at}]", "must be text: put it in quotes")
        return given

    def _words(
        self, kind: type[_Word], lists: Mapping[str, list[str]], key: str
    ) -> frozenset[_Word]:
        if key not in lists:
            return frozenset(kind)
        return frozenset(
            self._word(kind, word, f"{key}[{at}]") for at, word in enumerate(lists[key])
        )

    def _word(self, kind: type[_Word], given: object, field: str) -> _Word:
        try:
            return kind(given)
        except ValueError:
            known = [each.value for each in kind]
            raise self._wrong(field, _unknown(given, known)) from None

    def _namespaces(self, lists: Mapping[str, list[str]]) -> frozenset[str] | None:
        for at, word in enumerate(lists.get("namespaces", ())):
            if not LABEL_VALUE.fullmatch(word):
                fix = 'write what a label may hold, or "" for namespaces without it'
                raise self._wrong(f"namespaces[{at}]", f"is the value of no label: {fix}")
        return frozenset(lists["namespaces"]) if "namespaces" in lists else None

    def _groups(self, lists: Mapping[str, list[str]]) -> frozenset[str]:
        for at, group in enumerate(lists.get("groups", ())):
            if not GUID.fullmatch(group):
                raise self._wrong(f"groups[{at}]", "must be the object id of a group, a GUID")
        return frozenset(each.lower() for each in lists.get("groups", ()))

    def _wrong(self, field: str, problem: str) -> InvalidObjectError:
        path = f"{self._place}.{field}" if field else self._place
        return InvalidObjectError(self._what, path, problem)


def _known_keys(given: Mapping[str, Any], known: Collection[str], what: str, place: str) -> None:
    for key in given:
        if key not in known:
            word = key if _NAME.fullmatch(key) else "?"
            path = f"{place}.{word}" if place else word
            raise InvalidObjectError(what, path, _unknown(key, known))


def _unknown(given: object, known: Collection[str]) -> str:
    """Say that a word is none of those known, and which it may have been."""
    if not isinstance(given, str):
        return f"must be one of {', '.join(known)}"
    near = difflib.get_close_matches(given[:_LONGEST_QUOTE].lower(), known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"write one of {', '.join(known)}"
    return f"{_quoted(given)} is not known: {hint}"


def _quoted(given: str) -> str:
    """Quote what is a word: what is put there by mistake may be somebody's address."""
    return repr(given) if _NAME.fullmatch(given) else "this"


def _check_together(rows: Sequence[RiskRow], what: str) -> None:
    """Refuse names that come twice, and rows that nothing ever reaches."""
    names: set[str] = set()
    cells: set[tuple[enum.Enum, ...]] = set()
    for at, row in enumerate(rows):
        if row.name in names:
            problem = f"{row.name} is another row's name as well: names tell rows apart"
            raise InvalidObjectError(what, f"rows[{at}].name", problem)
        names.add(row.name)
        covering = next((each.name for each in rows[:at] if each.covers(row)), "")
        own = set(product(row.standings, row.operations, row.roles))
        if covering or own <= cells:
            above = f"{covering}, above it, matches" if covering else "the rows above it match"
            problem = f"is never reached: {above} all of it. Move it up, or take it out"
            raise InvalidObjectError(what, f"rows[{at}]", problem)
        if row.namespaces is None and not row.groups:
            cells |= own


@dataclass(frozen=True)
class RiskTable:
    """All rows, in their order."""

    rows: tuple[RiskRow, ...]
    digest: str
    """`sha256:` and the digest of the rows: the table's revision in a decision."""
    _cells: Mapping[_Cell, tuple[RiskRow, ...]] = field(repr=False, compare=False)

    @classmethod
    def of(cls, rows: Iterable[RiskRow]) -> "RiskTable":
        """Make a table of rows."""
        every = tuple(rows)
        digest = hashlib.sha256(msgspec.json.encode([row.written for row in every])).hexdigest()
        cells: dict[_Cell, list[RiskRow]] = {}
        for row in every:
            for cell in product(row.standings, row.operations, row.roles):
                cells.setdefault(cell, []).append(row)
        found = {cell: tuple(matching) for cell, matching in cells.items()}
        return cls(every, f"sha256:{digest}", found)

    def find(
        self,
        standing: Standing,
        operation: OperationClass,
        namespace_class: str,
        role: Role,
        groups: frozenset[str] = frozenset(),
    ) -> RiskRow:
        """Return the row that decides; `groups` are object ids in lower case."""
        for row in self._cells.get((standing, operation, role), ()):
            if row.matches_place(namespace_class, groups):
                return row
        return _OTHERWISE


SHIPPED: Final = RiskTable.of(row for row, _ in SHIPPED_ROWS)
"""The table of a site that has none."""


@lru_cache(maxsize=4)
def parse_table(text: str, what: str) -> RiskTable:
    """Read a site's table and put the shipped rows below it; an empty text is no table.

    `what` names it in errors. The last few are remembered: a gate asks with each snapshot.

    Raises:
        InvalidObjectError: it is broken; the message names the field and the fix.
    """
    if not text:
        return SHIPPED
    return RiskTable.of((*read_rows(text, what), *SHIPPED.rows))
