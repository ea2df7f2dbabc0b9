"""Asks OPA what the embedded engine was asked, and says where the answers differ.

A recording engine keeps what was asked and answered.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from core.base.errors import EvaluationError
from core.base.safe_text import cut_after
from policies.authoring.workspace import Workspace, run_program
from policies.bundle.format import JUDGE, NEEDS, Rule
from policies.engine.entry_points import judge_input, read_answer, read_judgement
from policies.engine.interface import A_POD, Engine, Judgement, PolicyAnswer, ShownFields
from policies.site.fields import DeclaredFields

_QUERY: Final = (
    "{kind: answers | some kind in {`needs`, `judge`}; answers := {i: answer | "
    "some i, document in input[kind]; answer := data.sallyport[kind].answer "
    "with input as document}}"
)
"""All questions at once: to start OPA takes longer than to answer one."""

_MOST_SHOWN: Final = 400


class RecordedQuestion(msgspec.Struct, frozen=True):
    """One question and its answer."""

    entrypoint: str
    document: bytes
    answer: PolicyAnswer | Judgement
    about: str
    """Whose question it was: the file of a case."""
    projection: bytes
    """Of the object that was asked about."""


class RecordingEngine:
    """Asks another engine, and keeps each question that was answered."""

    def __init__(self, engine: Engine) -> None:
        self._engine: Final = engine
        self.asked: list[RecordedQuestion] = []
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
    def reads(self) -> DeclaredFields:
        """See Engine.reads."""
        return self._engine.reads

    async def ask(self, projection: bytes) -> PolicyAnswer:
        """See Engine.ask."""
        answer = await self._engine.ask(projection)
        self.asked.append(RecordedQuestion(NEEDS, projection, answer, self.about, projection))
        return answer

    async def judge(
        self, projection: bytes, answer: PolicyAnswer, context: bytes, shown: ShownFields = A_POD
    ) -> Judgement:
        """See Engine.judge."""
        judged = await self._engine.judge(projection, answer, context, shown)
        document = judge_input(projection, answer, context, shown)
        self.asked.append(RecordedQuestion(JUDGE, document, judged, self.about, projection))
        return judged

    def close(self) -> None:
        """See Engine.close."""
        self._engine.close()


class Difference(msgspec.Struct, frozen=True):
    """One question that the engines answer otherwise, or OPA not at all."""

    about: str
    entrypoint: str
    embedded: str
    opa: str


def find_differences(workspace: Workspace, asked: Sequence[RecordedQuestion]) -> list[Difference]:
    """Ask OPA each question, on the same files, with built-ins that fail being errors."""
    if not asked:
        return []
    answers, failed = _answers(workspace, asked, "--strict-builtin-errors")
    if not failed:
        return list(_compared(asked, answers))
    # Which of them fails is found by asking one at a time.
    found = []
    for each in asked:
        answers, failed = _answers(workspace, [each], "--strict-builtin-errors")
        if failed:
            said = workspace.places.named(failed)
            found.append(Difference(each.about, each.entrypoint, _shown(each.answer), said))
        else:
            found += _compared([each], answers)
    return found


def _answers(
    workspace: Workspace, asked: Sequence[RecordedQuestion], *flags: str
) -> tuple[dict[int, Any], str]:
    """Return OPA's answers by number; or what it says where it has none."""
    needs = {str(i): msgspec.Raw(it.document) for i, it in enumerate(asked) if _is_needs(it)}
    judge = {str(i): msgspec.Raw(it.document) for i, it in enumerate(asked) if not _is_needs(it)}
    document = msgspec.json.encode({"needs": needs, "judge": judge})
    ran = run_program(
        workspace.opa,
        workspace.folder,
        *("eval", "-b", "rego", "-I", "-f", "json", *flags, _QUERY),
        stdin=document,
    )
    decoded: Any = {}
    try:
        decoded = msgspec.json.decode(ran.out or b"{}")
        value = decoded["result"][0]["expressions"][0]["value"]
    except (msgspec.DecodeError, LookupError):
        errors = decoded.get("errors", []) if isinstance(decoded, dict) else []
        return {}, "; ".join(map(_worded, errors)) or ran.said or "no answer"
    found = {**value.get("needs", {}), **value.get("judge", {})}
    return {int(number): answer for number, answer in found.items()}, ""


def _worded(error: Any) -> str:
    if not isinstance(error, dict):
        return str(error)
    at = error.get("location") or {}
    place = f"{at['file']}:{at['row']}: " if at.get("file") else ""
    return f"{place}{error.get('message', error)}"


def _is_needs(asked: RecordedQuestion) -> bool:
    return asked.entrypoint == NEEDS


def _compared(asked: Sequence[RecordedQuestion], answers: dict[int, Any]) -> Iterator[Difference]:
    for number, each in enumerate(asked):
        said = "undefined"
        if number in answers:
            read = _read(each, answers[number])
            if read == each.answer:
                continue
            said = read if isinstance(read, str) else _shown(read)
        yield Difference(each.about, each.entrypoint, _shown(each.answer), said)


def _read(asked: RecordedQuestion, answer: Any) -> PolicyAnswer | Judgement | str:
    results = msgspec.json.encode([{"result": answer}])
    try:
        return read_answer(results) if _is_needs(asked) else read_judgement(results)
    except EvaluationError as error:
        return str(error)


def _shown(answer: PolicyAnswer | Judgement) -> str:
    return cut_after(msgspec.json.encode(answer).decode(), _MOST_SHOWN, " …")
