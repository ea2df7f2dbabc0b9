"""Asks one bundle about a request that was judged, on its recorded inputs.

`admission.evidence` writes these inputs.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from core.base.errors import EvaluationError
from core.kubernetes.workload_kinds import WORKLOADS
from core.people.subject import GROUP_PREFIX, pseudonymous_group
from policies.bundle.format import Rule
from policies.engine.interface import A_POD, Engine, Judgement, PolicyAnswer, ShownFields
from policies.projection.model import NO_POD
from policies.site.fields import POD, is_covered
from sandbox.risk_score import score_risk

_RAWS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_LIST: Final = b"["
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
_UNNAMED: Final = f'"{GROUP_PREFIX}'.encode()
_TEXTS: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|`[^`]*`')
"""Texts of Rego and JSON, with their quotes."""

_NO_NEEDS: Final = PolicyAnswer(())


class _Fields(msgspec.Struct, frozen=True):
    declared: dict[str, list[str]] = {}
    parts: list[dict[str, Any]] = []
    object: dict[str, Any] | None = None


_FIELDS: Final = msgspec.json.Decoder(_Fields)


class RecordedInputs(msgspec.Struct, frozen=True, kw_only=True):
    """What policies were shown of one request."""

    kind: str
    """As rules name it: `Pod`, `networking.k8s.io/Ingress`."""
    asked: bool
    """Whether a site's rules are asked: of the final state of what is created or changed."""
    projections: tuple[bytes, ...] = ()
    contexts: tuple[bytes, ...] = ()
    """Of its Pods, then of the object itself; empty where none was recorded."""
    parts: tuple[Mapping[str, Any], ...] = ()
    """The fields of its Pods; empty where none was declared."""
    own: Mapping[str, Any] | None = None
    """The object's own fields; None where it was not judged itself."""
    declared: Mapping[str, list[str]] = {}
    """Which fields were copied, by kind."""

    @property
    def pods(self) -> int:
        """How many Pods it has, or would make, of which a context is known."""
        return len(self.contexts) - (self.own is not None)

    def unread(self, rules: Iterable[Rule]) -> frozenset[str]:
        """Return the rules that read what was not recorded: nobody knows what they would say.

        Without a recorded context these are all rules that are asked about the object.
        """
        if not self.asked:
            return frozenset()
        kinds = {self.kind, *([POD] if self.carries else [])}
        return frozenset(
            rule.id
            for rule in rules
            if rule.site
            and rule.id.startswith("rules/")
            and not all(self._shows(kind, rule) for kind in kinds.intersection(rule.kinds))
        )

    @property
    def carries(self) -> bool:
        """Whether it is a Pod, or makes Pods."""
        group, _, name = self.kind.rpartition("/")
        return self.pods > 0 or self.kind == POD or (group, name) in WORKLOADS

    def _shows(self, kind: str, rule: Rule) -> bool:
        known = self.declared.get(kind)
        if (not self.pods) if kind == POD else known is None:
            return False
        return all(is_covered(field, known or ()) for field in rule.fields)


def find_group_names(sources: Iterable[str]) -> dict[str, str]:
    """Return the names of groups that Rego may speak of, by what the record has in their place.

    Each text in quotes may be one: what a rule compares a group with stands in it, or in its
    parameters.
    """
    found = (text for source in sources for text in _TEXTS.findall(source))
    texts = {_unquoted(text) for text in found}
    return {pseudonymous_group(text): text for text in texts if pseudonymous_group(text) != text}


def _unquoted(text: str) -> str:
    if text.startswith("`"):
        return text[1:-1]
    try:
        return msgspec.json.decode(text, type=str)
    except msgspec.DecodeError:
        return text[1:-1]


def restore_group_names(context: bytes, names: Mapping[str, str]) -> bytes:
    """Return a context with the names of groups that are known put back."""
    if _UNNAMED not in context:
        return context
    decoded = msgspec.json.decode(context, type=dict)
    groups = [names.get(group, group) for group in decoded.get("groups", ())]
    return _ENCODER.encode(decoded | {"groups": sorted(groups)})


def read_inputs(  # noqa: PLR0913  All that was recorded.
    kind: str,
    projection: bytes,
    context: bytes,
    fields: bytes,
    names: Mapping[str, str],
    *,
    asked: bool,
) -> RecordedInputs:
    """Read what was recorded; what is empty was not.

    `names` are those of groups (`find_group_names`).

    Raises:
        ValueError: it is not what this or an earlier release writes.
    """
    found = _FIELDS.decode(fields) if fields else _Fields()
    return RecordedInputs(
        kind=kind,
        asked=asked,
        projections=_split(projection),
        contexts=tuple(restore_group_names(each, names) for each in _split(context)),
        parts=tuple(found.parts),
        own=found.object,
        declared=found.declared,
    )


def _split(content: bytes) -> tuple[bytes, ...]:
    """Return the members of a list, or what is none."""
    if not content:
        return ()
    return tuple(map(bytes, _RAWS.decode(content))) if content.startswith(_LIST) else (content,)


class BundleAnswer(msgspec.Struct, frozen=True, gc=False, array_like=True):
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


class BundleAsker:
    """Asks one bundle, by the points that the site gives to signals."""

    def __init__(self, engine: Engine, points: Mapping[str, int]) -> None:
        self._engine = engine
        self._points = points
        self._rules = list(engine.rules.values())

    async def ask(self, inputs: RecordedInputs) -> BundleAnswer:
        """Return what the bundle says; a failure of its policies is part of that, no exception."""
        try:
            return await self._ask(inputs)
        except EvaluationError as error:
            return BundleAnswer(error=str(error))

    async def _ask(self, inputs: RecordedInputs) -> BundleAnswer:
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
        return BundleAnswer(
            needs=self._needs(answers),
            denied=frozenset(each.rule for answer in answers for each in answer.denials),
            site_denied=frozenset(denied - softer),
            site_warned=frozenset(warned | (denied & softer)),
            score=score,
            unread=unread,
        )

    async def _judge(self, inputs: RecordedInputs, number: int, answer: PolicyAnswer) -> Judgement:
        """Return what `judge` says of one Pod: to no site's rule unless they are asked."""
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
