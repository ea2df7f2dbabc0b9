"""Remembers what the policies said of a projection, so that a gang of Pods is evaluated once.

Exact: the answer depends on the bundle and on the projection's bytes alone (rules have no clock
and no outside data), and the key is their digest. An engine has one bundle for its life, so a
new revision is a new engine with an empty memory.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from policies.bundle import Rule
from policies.engine import Answer, Engine

MOST_ENTRIES: Final = 4096
"""Different projections: more than the workloads of most clusters that are created in an hour."""

MOST_BYTES: Final = 16 * 1024 * 1024
"""Of all remembered answers, about."""

_MOST_OF_ONE: Final = 64 * 1024
"""Bytes of one answer that is remembered; those of hostile Pods are not worth the room."""

_OF_NEED: Final = 200
"""Bytes of one need or denial beside its texts."""


class RememberingEngine:
    """An engine, asked once for each projection as long as there is room."""

    def __init__(self, engine: Engine, most_entries: int = MOST_ENTRIES) -> None:
        self._engine = engine
        self._most_entries = most_entries
        self._answers: OrderedDict[bytes, Answer] = OrderedDict()
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

    async def ask(self, projection: bytes) -> Answer:
        """See Engine.ask. An evaluation that fails is not remembered."""
        key = hashlib.sha256(projection).digest()
        answer = self._answers.get(key)
        if answer is not None:
            self.hits += 1
            self._answers.move_to_end(key)
            return answer
        self.misses += 1
        answer = await self._engine.ask(projection)
        self._remember(key, answer)
        return answer

    def close(self) -> None:
        """Free the engine and forget all."""
        self._answers.clear()
        self._size = 0
        self._engine.close()

    def _remember(self, key: bytes, answer: Answer) -> None:
        size = _size(answer)
        if size > _MOST_OF_ONE or key in self._answers:
            return
        self._answers[key] = answer
        self._size += size
        while len(self._answers) > self._most_entries or self._size > MOST_BYTES:
            _, oldest = self._answers.popitem(last=False)
            self._size -= _size(oldest)


def _size(answer: Answer) -> int:
    """Give about how many bytes an answer takes; a character may take four."""
    characters = sum(len(need.privilege) + len(need.path) for need in answer.needs)
    characters += sum(len(denial.value) + len(denial.path) for denial in answer.denials)
    characters += sum(len(signal.value) + len(signal.path) for signal in answer.signals)
    characters += sum(len(feature.path) for feature in answer.features)
    count = 1 + sum(map(len, (answer.needs, answer.denials, answer.signals, answer.features)))
    return 4 * characters + _OF_NEED * count
