"""Asks the engine what an object's parts need, and gives the answers as one, about the object."""

import asyncio

import msgspec

from admission.model.judged_object import Part, Reading
from core.sandbox.decision import Signal
from policies.engine.interface import Engine, Judgement, PolicyAnswer, ShownFields
from policies.projection.pods import encode


class EvaluatedPart(msgspec.Struct, frozen=True, gc=False):
    """One part, and what the policies say of it."""

    part: Part
    projection: bytes
    """As JSON: what they were evaluated on."""
    said: PolicyAnswer
    """With paths from the part's root, as the policies gave it."""
    answer: PolicyAnswer
    """With paths from the object's root, without what is not certain."""


class Evaluated(msgspec.Struct, frozen=True, gc=False):
    """What the policies say of an object."""

    parts: tuple[EvaluatedPart, ...]
    answer: PolicyAnswer
    """What all parts need and what is denied of any, with paths from the object's root."""
    projection: bytes
    """What was evaluated: the projection, or a JSON list of the projections of several parts."""


async def evaluate(engine: Engine, reading: Reading) -> Evaluated:
    """Give what all parts need, and what each does.

    Raises:
        EvaluationError: the policies failed.
    """
    if len(reading.parts) == 1:
        only = await _evaluate(engine, reading.parts[0])
        return Evaluated((only,), only.answer, only.projection)
    parts = []
    for part in reading.parts:
        parts.append(await _evaluate(engine, part))
        # An engine in this process does not wait for anyone: let others go on, and deadlines end.
        await asyncio.sleep(0)
    needs = tuple(need for each in parts for need in each.answer.needs)
    denials = tuple(denial for each in parts for denial in each.answer.denials)
    projection = b"[" + b",".join(each.projection for each in parts) + b"]"
    return Evaluated(tuple(parts), PolicyAnswer(needs, denials), projection)


class Judging:
    """Asks the engine to judge a part of an object: once of each context."""

    def __init__(self, engine: Engine, part: EvaluatedPart) -> None:
        self.of = part
        self._engine = engine
        self._said: dict[bytes, Judgement] = {}

    async def judge(self, context: bytes) -> Judgement:
        """As `Engine.judge`, with paths from the part's root.

        Raises:
            EvaluationError: the policies failed.
        """
        said = self._said.get(context)
        if said is None:
            part = self.of
            shown = ShownFields(fields=part.part.fields)
            said = await self._engine.judge(part.projection, part.said, context, shown)
            self._said[context] = said
        return said

    async def signals(self, context: bytes) -> tuple[Signal, ...]:
        """Give what makes the part riskier that it does not show by itself.

        Raises:
            EvaluationError: the policies failed.
        """
        said = await self.judge(context)
        return _signals(said.signals, self.of.part) if said.signals else ()


async def _evaluate(engine: Engine, part: Part) -> EvaluatedPart:
    projection = encode(part.projection)
    said = await engine.ask(projection)
    return EvaluatedPart(part, projection, said, _of_part(said, part))


def _of_part(answer: PolicyAnswer, part: Part) -> PolicyAnswer:
    """Leave out what is not certain, and say where in the object the rest lies."""
    template = part.template
    if template is None:
        return answer
    put = msgspec.structs.replace
    return PolicyAnswer(
        tuple(
            put(need, path=template.place(need.path))
            for need in answer.needs
            if part.counts(need.path)
        ),
        tuple(map(part.placed, answer.denials)),
        _signals(answer.signals, part),
        tuple(put(feature, path=template.place(feature.path)) for feature in answer.features),
    )


def _signals(signals: tuple[Signal, ...], part: Part) -> tuple[Signal, ...]:
    template = part.template
    if template is None:
        return signals
    return tuple(
        msgspec.structs.replace(signal, path=template.place(signal.path) if signal.path else "")
        for signal in signals
        if part.counts(signal.path)
    )
