"""Answers `GET /v1/acts` from the ledger: what an identity was allowed to do."""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from audit.ledger.server.acts_protocol import FORMAT, ActsPage
from audit.ledger.server.service import BadQuestionError, Question
from audit.ledger.store.decisions import DecisionQuery, FindDecisions
from core.risk.look_back import RecordedAct

ROWS: Final = 200
"""Decisions read for one page: each has at most 64 KiB, most have 4."""

_LABEL: Final = re.compile(r"oid:[0-9a-fA-F-]{36}|user:[0-9a-f]{16}")
_TIME: Final = re.compile(r"[0-9]{1,15}")
_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_KNOWN: Final = frozenset({"subject", "since", "until", "after"})
_LONGEST: Final = 253


class _Asked(msgspec.Struct, frozen=True, rename="camel"):
    operation: str
    kind: str
    version: str = ""
    group: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    object_uid: str = ""
    dry_run: bool = False


class _Decided(msgspec.Struct, frozen=True):
    id: str
    request: _Asked
    allowed: bool


_DECODER: Final = msgspec.json.Decoder(_Decided)


class LedgerActs:
    """Reads the acts of one cluster out of a ledger."""

    def __init__(self, find: FindDecisions, cluster: str) -> None:
        self._find = find
        self._cluster = cluster

    async def page(self, label: str, since_ms: int, until_ms: int, after: str = "") -> ActsPage:
        """Return the acts of a label in a time, after the id of the page before.

        Raises:
            LedgerError: the ledger cannot be read.
        """
        query = DecisionQuery(
            cluster=self._cluster,
            requesters=(label,),
            source="validate",
            since_ms=since_ms,
            until_ms=until_ms,
            after=after or None,
            oldest_first=True,
            limit=ROWS,
        )
        documents = await self._find(query)
        decided = [_DECODER.decode(each) for each in documents]
        last = decided[-1].id if len(decided) == ROWS else ""
        return ActsPage(FORMAT, _acts(decided), last)


def make_acts_answerer(find: FindDecisions) -> Callable[[Question], Awaitable[bytes]]:
    """Return what answers at PATH: of the cluster alone whose certificate asks."""

    async def answer(question: Question) -> bytes:
        given = question.parameters
        if unknown := sorted(given.keys() - _KNOWN):
            raise BadQuestionError(f"{unknown[0][:64]!r}: there is no such parameter; leave it out")
        acts = LedgerActs(find, question.cluster)
        page = await acts.page(
            _matching(_LABEL, given.get("subject", ""), "subject", "oid:… or user:…"),
            int(_matching(_TIME, given.get("since", ""), "since", "milliseconds")),
            int(_matching(_TIME, given.get("until", ""), "until", "milliseconds")),
            _matching(_ID, given["after"], "after", "an id") if given.get("after") else "",
        )
        return msgspec.json.encode(page)

    return answer


def _matching(pattern: re.Pattern[str], text: str, name: str, wanted: str) -> str:
    if not pattern.fullmatch(text):
        raise BadQuestionError(f"{name}: give {wanted}")
    return text


def _acts(decided: Sequence[_Decided]) -> list[RecordedAct]:
    return [
        RecordedAct(
            id=each.id,
            operation=each.request.operation[:_LONGEST],
            kind=each.request.kind[:_LONGEST],
            version=each.request.version[:_LONGEST],
            group=each.request.group[:_LONGEST],
            namespace=each.request.namespace[:_LONGEST],
            name=each.request.name[:_LONGEST],
            subresource=each.request.subresource[:_LONGEST],
            uid=each.request.object_uid[:_LONGEST],
        )
        for each in decided
        if each.allowed and not each.request.dry_run
    ]
