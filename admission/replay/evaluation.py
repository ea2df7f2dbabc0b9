"""Asks one bundle what it says of a request that was judged: what it needs, and what is wrong."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from admission.replay.inputs import Inputs
from core.base.errors import EvaluationError
from policies.engine.interface import A_POD, Engine, Judgement, PolicyAnswer, ShownFields
from policies.projection.pods import NO_POD
from policies.site.fields import POD
from sandbox.risk_score import score_risk

_NO_NEEDS: Final = PolicyAnswer(())


class Said(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a bundle says of one request, before profiles, exceptions and modes."""

    needs: Mapping[str, tuple[int, str]] = {}
    """The privileges that it needs: the version of the catalogue in which each appeared, and the
    rule that found it."""
    denied: frozenset[str] = frozenset()
    """Built-in rules that deny it."""
    site_denied: frozenset[str] = frozenset()
    """The site's rules that do."""
    site_warned: frozenset[str] = frozenset()
    score: int | None = 0
    """How risky its riskiest Pod is; None where not all that counts was recorded."""
    unread: frozenset[str] = frozenset()
    """Rules that read what was not recorded: what they say is left out."""
    error: str = ""
    """Why it could not be judged; empty where it could."""


class Asker:
    """Asks one bundle, by the points that the site gives to signals."""

    def __init__(self, engine: Engine, points: Mapping[str, int]) -> None:
        self._engine = engine
        self._points = points
        self._rules = list(engine.rules.values())

    async def ask(self, inputs: Inputs) -> Said:
        """Give what the bundle says; a failure of its policies is part of that, no exception."""
        try:
            return await self._ask(inputs)
        except EvaluationError as error:
            return Said(error=str(error))

    async def _ask(self, inputs: Inputs) -> Said:
        engine, unread = self._engine, inputs.unread(self._rules)
        answers = [await engine.ask(projection) for projection in inputs.projections]
        judged = [
            await self._judge(inputs, number, answers[number]) for number in range(inputs.pods)
        ]
        score = self._score(answers, judged) if inputs.pods == len(answers) else None
        if inputs.own is not None and inputs.asked and inputs.kind in engine.reads.kinds:
            shown = ShownFields(inputs.kind, engine.reads.fields(inputs.kind, inputs.own))
            judged.append(await engine.judge(NO_POD, _NO_NEEDS, inputs.contexts[-1], shown))
        softer = {rule.id for rule in self._rules if rule.action == "warn"}
        denied = {each.rule for said in judged for each in said.denials} - unread
        warned = {each.rule for said in judged for each in said.warnings} - unread
        return Said(
            needs=self._needs(answers),
            denied=frozenset(each.rule for answer in answers for each in answer.denials),
            site_denied=frozenset(denied - softer),
            site_warned=frozenset(warned | (denied & softer)),
            score=score,
            unread=unread,
        )

    async def _judge(self, inputs: Inputs, number: int, answer: PolicyAnswer) -> Judgement:
        """Give what `judge` says of one Pod: to no site's rule unless they are asked."""
        reads, shown = self._engine.reads, A_POD
        asked = inputs.asked and POD in reads.kinds
        if asked and inputs.parts:
            shown = ShownFields(POD, reads.fields(POD, inputs.parts[number]))
        context = inputs.contexts[number]
        said = await self._engine.judge(inputs.projections[number], answer, context, shown)
        return said if asked else Judgement(said.signals)

    def _needs(self, answers: Iterable[PolicyAnswer]) -> dict[str, tuple[int, str]]:
        found: dict[str, tuple[int, str]] = {}
        for need in (need for answer in answers for need in answer.needs):
            rule = self._engine.rules.get(need.rule)
            one = (rule.since if rule else 1, need.rule)
            found[need.privilege] = min(one, found.get(need.privilege, one))
        return found

    def _score(self, answers: Iterable[PolicyAnswer], judged: Iterable[Judgement]) -> int:
        scores = [
            score_risk((*answer.signals, *said.signals), (), self._engine.rules, self._points).score
            for answer, said in zip(answers, judged, strict=True)
        ]
        return max(scores, default=0)
