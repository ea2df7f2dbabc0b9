"""Asks the engine what an object's parts need, and gives the answers as one, about the object."""

import asyncio

import msgspec

from admission.parts import Part, Reading
from policies.engine import Answer, Engine
from policies.projection import encode


async def evaluate(engine: Engine, reading: Reading) -> tuple[Answer, tuple[Answer, ...], bytes]:
    """Give what all parts need, with paths from the object's root, and what each does.

    Then what was evaluated: the projection, or a JSON list of the projections of several parts.

    Raises:
        EvaluationError: the policies failed.
    """
    if len(reading.parts) == 1:
        part = reading.parts[0]
        encoded = encode(part.projection)
        answer = _of_part(await engine.ask(encoded), part)
        return answer, (answer,), encoded
    answers, projections = [], []
    for part in reading.parts:
        encoded = encode(part.projection)
        answers.append(_of_part(await engine.ask(encoded), part))
        projections.append(encoded)
        # An engine in this process does not wait for anyone: let others go on, and deadlines end.
        await asyncio.sleep(0)
    needs = tuple(need for answer in answers for need in answer.needs)
    denials = tuple(denial for answer in answers for denial in answer.denials)
    whole = Answer(needs, denials)
    return whole, tuple(answers), b"[" + b",".join(projections) + b"]"


def _of_part(answer: Answer, part: Part) -> Answer:
    """Leave out what is not certain, and say where in the object the rest lies."""
    template = part.template
    if template is None:
        return answer
    put = msgspec.structs.replace
    return Answer(
        tuple(
            put(need, path=template.place(need.path))
            for need in answer.needs
            if part.counts(need.path)
        ),
        tuple(put(denial, path=template.place(denial.path)) for denial in answer.denials),
        tuple(
            put(signal, path=template.place(signal.path))
            for signal in answer.signals
            if part.counts(signal.path)
        ),
        tuple(put(feature, path=template.place(feature.path)) for feature in answer.features),
    )
