"""Remembers what the policies said, so that a gang of Pods is evaluated once.

Exact: what `needs` answers depends on the bundle and on the projection's bytes alone (rules have no
clock and no outside data), what `judge` answers on the context's besides, and on no object where
the bundle has no signals of a site. The keys are just that, whole: to digest them takes longer
than to look them up (hashlib lets go of the interpreter from 2 KB on, and other threads take it).
An engine has one bundle for its life, so a new revision is a new engine with an empty memory.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from policies.bundle.format import Rule
from policies.engine.interface import (
    A_POD,
    Engine,
    Judgement,
    PolicyAnswer,
    RemoteEngine,
    ShownFields,
)
from policies.site.fields import DeclaredFields

MOST_ENTRIES: Final = 4096
"""Different inputs: more than the workloads of most clusters that are created in an hour."""

MOST_BYTES: Final = 16 * 1024 * 1024
"""Of all that is remembered, about."""

_MOST_OF_ONE: Final = 64 * 1024
"""Bytes of one that is remembered; those of hostile Pods are not worth the room."""

_OF_NEED: Final = 200
"""Bytes of one need or denial beside its texts."""

_Key = bytes | tuple[bytes, ...]
"""A projection; or a context and, where it matters, the projection, the fields and the kind."""


@dataclass(frozen=True, slots=True)
class CachedSample:
    """An input and what an engine said of it, to compare another engine with."""

    said: PolicyAnswer | Judgement
    projection: bytes | None
    """None of a judgement that did not see the object."""
    context: bytes = b""
    """Of a judgement."""
    shown: ShownFields = A_POD


class RememberingEngine:
    """An engine, asked once for each input as long as there is room."""

    def __init__(self, engine: Engine, most_entries: int = MOST_ENTRIES) -> None:
        self._engine = engine
        self._whole = any(rule.site for rule in engine.rules.values())
        self._most_entries = most_entries
        self._remembered: OrderedDict[_Key, PolicyAnswer | Judgement] = OrderedDict()
        self._size = 0
        self.hits = 0
        """Projections answered from memory."""
        self.misses = 0
        """Projections that were evaluated."""

    @property
    def revision(self) -> str:
        """See Engine.revision."""
        return self._engine.revision

    @property
    def rules(self) -> Mapping[str, Rule]:
        """See Engine.rules."""
        return self._engine.rules

    @property
    def reads(self) -> DeclaredFields:
        """See Engine.reads."""
        return self._engine.reads

    async def ask(self, projection: bytes) -> PolicyAnswer:
        """See Engine.ask. An evaluation that fails is not remembered."""
        found = self._remembered.get(projection)
        if isinstance(found, PolicyAnswer):
            self.hits += 1
            self._remembered.move_to_end(projection)
            return found
        self.misses += 1
        answer = await self._engine.ask(projection)
        self._remember(projection, answer)
        return answer

    async def judge(
        self, projection: bytes, answer: PolicyAnswer, context: bytes, shown: ShownFields = A_POD
    ) -> Judgement:
        """See Engine.judge. An evaluation that fails is not remembered."""
        whole = (context, projection, shown.fields, shown.kind.encode())
        key = whole if self._whole else (context,)
        found = self._remembered.get(key)
        if isinstance(found, Judgement):
            self._remembered.move_to_end(key)
            return found
        judgement = await self._engine.judge(projection, answer, context, shown)
        self._remember(key, judgement)
        return judgement

    def recent(self, most: int) -> list["CachedSample"]:
        """Return what was asked last, of inputs that differ, with what was answered."""
        last = islice(reversed(self._remembered.items()), most)
        return [_sample(key, said) for key, said in last]

    def recall(self, samples: Sequence[CachedSample]) -> None:
        """Remember what the same bundle said elsewhere, the latest first."""
        for each in reversed(samples):
            if isinstance(each.said, PolicyAnswer):
                key: _Key | None = each.projection
            elif not self._whole:
                key = (each.context,)
            elif each.projection is None:
                key = None
            else:
                key = (each.context, each.projection, each.shown.fields, each.shown.kind.encode())
            if key is not None:
                self._remember(key, each.said)

    def missing(self) -> list[str]:
        """Name what the engine lacks to evaluate; what is remembered is answered without it."""
        return self._engine.missing() if isinstance(self._engine, RemoteEngine) else []

    def close(self) -> None:
        """Free the engine and forget all."""
        self._remembered.clear()
        self._size = 0
        self._engine.close()

    def _remember(self, key: _Key, said: PolicyAnswer | Judgement) -> None:
        size = _size(key, said)
        if size > _MOST_OF_ONE or key in self._remembered:
            return
        self._remembered[key] = said
        self._size += size
        while len(self._remembered) > self._most_entries or self._size > MOST_BYTES:
            oldest = self._remembered.popitem(last=False)
            self._size -= _size(*oldest)


def _sample(key: _Key, said: PolicyAnswer | Judgement) -> CachedSample:
    if isinstance(key, bytes):
        return CachedSample(said, key)
    if len(key) == 1:
        return CachedSample(said, None, key[0])
    context, projection, fields, kind = key
    return CachedSample(said, projection, context, ShownFields(kind.decode(), fields))


def _size(key: _Key, said: PolicyAnswer | Judgement) -> int:
    """Return about how many bytes it takes; a character may take four."""
    kept = len(key) if isinstance(key, bytes) else sum(map(len, key))
    characters = sum(len(signal.value) + len(signal.path) for signal in said.signals)
    count = 1 + len(said.signals)
    if isinstance(said, Judgement):
        found = (*said.denials, *said.warnings)
        characters += sum(len(one.value) + len(one.path) + len(one.message) for one in found)
        count += len(found)
    else:
        characters += sum(len(need.privilege) + len(need.path) for need in said.needs)
        characters += sum(len(denial.value) + len(denial.path) for denial in said.denials)
        characters += sum(len(feature.path) for feature in said.features)
        count += sum(map(len, (said.needs, said.denials, said.features)))
    return kept + 4 * characters + _OF_NEED * count
