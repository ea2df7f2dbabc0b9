"""The entry points `needs` and `judge`: their input, their answers read strictly, and a canary.

What is not read might have counted. Every engine is asked the canary before its bundle counts: a
bundle that finds nothing would let everything in.
"""

from typing import Final, TypeVar

import msgspec

from core.base.errors import EvaluationError
from core.decision.decision import Denial, Need
from core.kubernetes.pod import SecurityContext
from core.sandbox.decision import Feature, Signal
from policies.bundle.format import JUDGE, NEEDS
from policies.engine.interface import Judgement, PolicyAnswer, ShownFields
from policies.projection.model import Container, Context, Projection, encode, encode_context

_ENCODER: Final = msgspec.json.Encoder()

MOST_OF_JUDGEMENT: Final = 256 * 1024
"""Bytes of what `judge` may answer: more than all signals of a Pod of a thousand containers."""

MOST_OF_MESSAGE: Final = 500
"""Characters kept of what a rule says of one thing that it found."""

_ENTERING: Final = "sandbox/actor/entered"

_T = TypeVar("_T")

CANARY: Final = encode(
    Projection(
        containers=[
            Container(
                "spec.containers[0]",
                "canary",
                "container",
                security_context=SecurityContext(privileged=True),
            )
        ]
    )
)
"""The projection of a Pod that every bundle must find something in."""

CANARY_CONTEXT: Final = encode_context(Context("CONNECT", "exec"))
"""The context of a request that every bundle must find something in."""


def judge_input(
    projection: bytes,
    answer: PolicyAnswer,
    context: bytes,
    shown: ShownFields,
    *,
    whole: bool = True,
) -> bytes:
    """Return the input of `judge` as JSON (schema/judge.json).

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


class _Entry(msgspec.Struct):
    privilege: str
    path: str
    container: str | None = None


class _Denial(msgspec.Struct):
    path: str
    value: str


class _SignalHit(msgspec.Struct):
    path: str
    value: str
    container: str | None = None


class _RulesAnswer(msgspec.Struct):
    containers: int
    needs: dict[str, list[_Entry]]
    denials: dict[str, list[_Denial]]
    signals: dict[str, list[_SignalHit]]
    features: list[Feature]


class _SiteFinding(msgspec.Struct):
    path: str
    value: str = ""
    message: str = ""
    container: str | None = None


class _SiteAnswer(msgspec.Struct):
    absent: int
    signals: dict[str, list[_SignalHit]]
    denials: dict[str, list[_SiteFinding]] = {}
    """Not in what a bundle of format 2 answers."""
    warnings: dict[str, list[_SiteFinding]] = {}


class _AnswerResult(msgspec.Struct):
    result: _RulesAnswer


class _JudgedResult(msgspec.Struct):
    result: _SiteAnswer


_ANSWERS: Final = msgspec.json.Decoder(tuple[_AnswerResult])
_JUDGED: Final = msgspec.json.Decoder(tuple[_JudgedResult])


def read_answer(answer: bytes) -> PolicyAnswer:
    """Turn what `needs` answers into ours; anything but its stated shape is an error.

    Raises:
        EvaluationError: it has another shape, or is undefined: the one result is missing then.
    """
    read = _decoded(_ANSWERS, answer, NEEDS)[0].result
    needs = [
        Need(f"privileges/{rule}", entry.privilege, entry.path, entry.container)
        for rule, entries in read.needs.items()
        for entry in entries
    ]
    needs.sort(key=lambda need: (need.path, need.rule, need.privilege, need.container or ""))
    denials = [
        Denial(f"rules/{rule}", entry.path, entry.value)
        for rule, entries in read.denials.items()
        for entry in entries
    ]
    denials.sort(key=lambda denial: (denial.path, denial.rule, denial.value))
    features = sorted(read.features, key=lambda it: (it.path, it.name, it.container or ""))
    return PolicyAnswer(tuple(needs), tuple(denials), _signals(read.signals), tuple(features))


def read_judgement(answer: bytes) -> Judgement:
    """Turn what `judge` answers into ours.

    Raises:
        EvaluationError: it has another shape, is undefined, or is longer than it may be.
    """
    if len(answer) > MOST_OF_JUDGEMENT:
        raise EvaluationError(f"{JUDGE} answered with more than {MOST_OF_JUDGEMENT} bytes")
    read = _decoded(_JUDGED, answer, JUDGE)[0].result
    return Judgement(_signals(read.signals), _ruled(read.denials), _ruled(read.warnings))


def _ruled(found: dict[str, list[_SiteFinding]]) -> tuple[Denial, ...]:
    denials = [
        Denial(
            f"rules/{rule}",
            entry.path,
            entry.value,
            entry.message[: MOST_OF_MESSAGE + 1],
            entry.container,
        )
        for rule, entries in found.items()
        for entry in entries
    ]
    denials.sort(key=lambda it: (it.path, it.rule, it.value, it.message, it.container or ""))
    return tuple(denials)


def _decoded(decoder: msgspec.json.Decoder[_T], answer: bytes, entrypoint: str) -> _T:
    try:
        return decoder.decode(answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"the policies answered in a shape that {entrypoint} does not have: {error}"
        raise EvaluationError(message) from error


def _signals(found: dict[str, list[_SignalHit]]) -> tuple[Signal, ...]:
    signals = [
        Signal(f"sandbox/{rule}", entry.path, entry.value, entry.container)
        for rule, entries in found.items()
        for entry in entries
    ]
    signals.sort(key=lambda it: (it.path, it.rule, it.value, it.container or ""))
    return tuple(signals)


def find_problem(answer: PolicyAnswer, judged: Judgement | None = None) -> str:
    """Say what is wrong with what a bundle answers to them; empty where nothing is.

    `judged` is None while only `answer` is known.
    """
    found = ""
    if all(need.privilege != "container/privileged" for need in answer.needs):
        found = "nothing wrong with a privileged container"
    elif judged is not None and all(each.rule != _ENTERING for each in judged.signals):
        found = "no signal where somebody enters a Pod"
    if not found:
        return ""
    return f"the bundle finds {found}: the built-in rules are missing from it or do not work"
