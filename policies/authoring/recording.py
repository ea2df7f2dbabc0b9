"""An engine that keeps what it was asked and what it answered, so that another can be asked too."""

from collections.abc import Mapping
from typing import Final

import msgspec

from policies.bundle.format import JUDGE, NEEDS, Rule
from policies.engine.asking import judge_input
from policies.engine.interface import A_POD, Answer, Engine, Judgement, Shown
from policies.site.fields import Reads


class Asked(msgspec.Struct, frozen=True):
    """One question and its answer."""

    entrypoint: str
    document: bytes
    answer: Answer | Judgement
    about: str
    """Whose question it was: the file of a case."""
    projection: bytes
    """Of the object that was asked about."""


class RecordingEngine:
    """Asks another engine, and keeps each question that was answered."""

    def __init__(self, engine: Engine) -> None:
        self._engine: Final = engine
        self.asked: list[Asked] = []
        self.about = ""
        """What is asked about from now on."""

    @property
    def revision(self) -> str:
        """See Engine.revision."""
        return self._engine.revision

    @property
    def rules(self) -> Mapping[str, Rule]:
        """See Engine.rules."""
        return self._engine.rules

    @property
    def reads(self) -> Reads:
        """See Engine.reads."""
        return self._engine.reads

    async def ask(self, projection: bytes) -> Answer:
        """See Engine.ask."""
        answer = await self._engine.ask(projection)
        self.asked.append(Asked(NEEDS, projection, answer, self.about, projection))
        return answer

    async def judge(
        self, projection: bytes, answer: Answer, context: bytes, shown: Shown = A_POD
    ) -> Judgement:
        """See Engine.judge."""
        judged = await self._engine.judge(projection, answer, context, shown)
        document = judge_input(projection, answer, context, shown)
        self.asked.append(Asked(JUDGE, document, judged, self.about, projection))
        return judged

    def close(self) -> None:
        """See Engine.close."""
        self._engine.close()
