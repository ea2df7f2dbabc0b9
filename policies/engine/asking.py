"""Makes the input of `judge`, the same for every engine."""

from typing import Final

import msgspec

from policies.engine.interface import Answer, Shown

_ENCODER: Final = msgspec.json.Encoder()


def judge_input(
    projection: bytes, answer: Answer, context: bytes, shown: Shown, *, whole: bool = True
) -> bytes:
    """Give the input of `judge` as JSON (schema/judge.json).

    Without `whole` the object stays out: where no Rego of a site may read it.
    """
    if not whole:
        return b'{"context":%b}' % context
    return b'{"context":%b,"fields":%b,"kind":%b,"needs":%b,"projection":%b}' % (
        context,
        shown.fields,
        _ENCODER.encode(shown.kind),
        _ENCODER.encode(answer.needs),
        projection,
    )
