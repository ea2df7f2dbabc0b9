"""Gathers what a site's rules deny and warn of, after exceptions.

It reads memory: the namespace's labels, exceptions and their approvals. Where the bundle has no
rules of a site for the kind of an object, that costs a look into an empty set.
"""

import asyncio
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import msgspec

from admission.approvals.exceptions import (
    ExceptionLookup,
    ExceptionResult,
    find_naming,
    not_in_force_message,
)
from admission.evidence import add_object_inputs, add_pod_inputs
from admission.model.facts import Facts, SiteRuleFacts
from admission.model.judged_object import Reading
from admission.model.messages import denial_finding
from admission.objects.evaluation import (
    NO_CLUSTER_CONTEXT,
    ClusterContext,
    FairEngine,
    PartJudge,
    PolicyContexts,
)
from core.base.json_errors import DECODE_ERRORS, decode_error
from core.decision.decision import Action, Denial, Finding
from core.decision.request import WRITES, Phase, Request
from core.kubernetes.pod import Pod
from core.sandbox.decision import SandboxMode
from policies.engine.interface import Engine, Judgement, PolicyAnswer, ShownFields
from policies.projection.model import NO_POD
from policies.site.fields import POD, kind_name

_ASKED_AT_ONCE: Final = 32
"""Pods of one object; other reviews go on after them."""

_NO_NEEDS: Final = PolicyAnswer(())


@dataclass(frozen=True)
class SiteRuleGatherer:
    """Asks a site's rules about a request, and applies exceptions to what they deny."""

    engine: Engine
    contexts: PolicyContexts
    exceptions: ExceptionLookup

    def judges(self, request: Request) -> bool:
        """Return whether some rule is asked about the request's own object, which is no Pod."""
        asked = request.operation in WRITES and not request.subresource
        kind = _kind_of(request)
        return asked and kind != POD and kind in self.engine.reads.kinds

    async def of_pods(
        self, request: Request, reading: Reading, parts: tuple[PartJudge, ...], facts: Facts
    ) -> Facts:
        """Add what policies see of each Pod, or Pod template, of an object, and what rules say.

        Raises:
            CannotJudgeError: the policies failed, or something that must be known cannot be.
        """
        if not reading.pods:
            return facts
        contexts = []
        for index, pod in enumerate(reading.pods, 1):
            shown = self._cluster_context(request, pod)
            contexts.append(self.contexts.contexts(request, facts, shown))
            if index % _ASKED_AT_ONCE == 0:
                await asyncio.sleep(0)
        reads = self.engine.reads
        projections = tuple([each.of.projection for each in parts])
        fields = tuple([each.of.part.fields for each in parts])
        facts = add_pod_inputs(
            facts, reads, projections, tuple([one[1] for one in contexts]), fields
        )
        if not _asked(request) or POD not in reads.kinds:
            return facts
        denials: list[Denial] = []
        warnings: list[Denial] = []
        for each, (context, _) in zip(parts, contexts, strict=True):
            said = await each.judge(context)
            denials += map(each.of.part.with_object_path, said.denials)
            warnings += map(each.of.part.with_object_path, said.warnings)
        return await self._ruled(request, facts, Judgement((), tuple(denials), tuple(warnings)))

    async def of_object(self, request: Request, facts: Facts, engine: FairEngine) -> Facts:
        """Add what the rules say of an object that is no Pod, but where an update leaves it so.

        Raises:
            CannotJudgeError: the policies failed, or something that must be known cannot be.
            InvalidObjectError: it is no object.
        """
        if not (self.judges(request) and _asked(request)):
            return facts
        kind = _kind_of(request)
        fields = self._fields(kind, request.object)
        if request.old_object is not None and fields == self._fields(kind, request.old_object):
            return add_object_inputs(facts, self.engine.reads, kind, b"", b"")
        context, recorded = self.contexts.contexts(request, facts, NO_CLUSTER_CONTEXT)
        facts = add_object_inputs(facts, self.engine.reads, kind, recorded, fields)
        said = await engine.judge(NO_POD, _NO_NEEDS, context, ShownFields(kind, fields))
        return await self._ruled(request, facts, said)

    def _fields(self, kind: str, raw: msgspec.Raw | None) -> bytes:
        try:
            return self.engine.reads.fields_of(kind, raw or b"{}")
        except DECODE_ERRORS as error:
            raise decode_error(kind, error) from error

    def _cluster_context(self, request: Request, pod: Pod) -> ClusterContext:
        return self.contexts.read_cluster_context(request, pod, SandboxMode.NEVER)

    @cached_property
    def _rules(self) -> frozenset[str]:
        """The rules whose denials the site has made warnings."""
        return frozenset(one.id for one in self.engine.rules.values() if one.action == "warn")

    async def _ruled(self, request: Request, facts: Facts, said: Judgement) -> Facts:
        if not (said.denials or said.warnings):
            return facts
        denials = [each for each in said.denials if each.rule not in self._rules]
        softer = [each for each in said.denials if each.rule in self._rules]
        excused = await self._excused(request, facts, denials)
        before = facts.site_rules or SiteRuleFacts()
        ruled = SiteRuleFacts(
            denied=(
                *before.denied,
                *(denial_finding(each, facts.rules) for each in excused.denials),
            ),
            warned=(
                *before.warned,
                *(_warned(denial_finding(one, facts.rules)) for one in (*softer, *said.warnings)),
            ),
            exceptions=(*before.exceptions, *excused.in_force),
        )
        remarks = tuple(not_in_force_message(name, why) for name, why in excused.not_in_force)
        return msgspec.structs.replace(facts, site_rules=ruled, remarks=(*facts.remarks, *remarks))

    async def _excused(
        self, request: Request, facts: Facts, denials: list[Denial]
    ) -> ExceptionResult:
        known = self.exceptions.in_namespace(request) if denials else ()
        return await self.exceptions.apply(find_naming(known, request, facts.root), (), denials)


def _kind_of(request: Request) -> str:
    return kind_name(request.kind.group, request.kind.kind)


def _asked(request: Request) -> bool:
    """Return whether it is the final state of an object, which alone counts."""
    return request.operation in WRITES and request.phase is not Phase.MUTATING


def _warned(finding: Finding) -> Finding:
    return msgspec.structs.replace(finding, action=Action.WARN)
