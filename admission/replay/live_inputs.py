"""What a live review gives to compare bundles on, as the record would. Pure."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, Final

import msgspec

from admission.replay.evaluation import BundleAnswer, RecordedInputs, read_inputs
from core.decision.decision import Decision
from core.decision.document import DecisionDocument, build_document
from core.decision.request import WRITES, Request
from core.kubernetes.workload_pods import templates_of
from policies.bundle.format import Rule
from policies.site.fields import POD, DeclaredFields, kind_name

_LABEL: Final = attrgetter("label")


def live_inputs(
    request: Request, decision: Decision, reads: DeclaredFields, names: Mapping[str, str]
) -> RecordedInputs:
    """Return what the policies in force saw, and the fields that the candidate reads besides.

    Raises:
        InvalidObjectError: the object has no longer the shape that it was judged by.
        ValueError: as `read_inputs`.
    """
    evidence, kind = decision.evidence, kind_name(request.kind.group, request.kind.kind)
    seen = evidence.projection, evidence.context, evidence.fields
    inputs = read_inputs(kind, *seen, names, asked=request.operation in WRITES)
    wanted = [each for each in (POD, kind) if reads.reads(each)]
    if not (inputs.asked and inputs.contexts and wanted and request.object):
        return inputs
    value = msgspec.json.decode(request.object, type=dict[str, Any])
    declared = dict(inputs.declared)
    own, parts = inputs.own, inputs.parts
    pods = [value] if kind == POD else _pods(request, value)
    if POD in wanted and len(pods) == inputs.pods:
        parts = tuple(pods)
        declared[POD] = msgspec.json.decode(reads.declared(POD), type=list[str])
    if own is not None and kind in wanted:
        own = value
        declared[kind] = msgspec.json.decode(reads.declared(kind), type=list[str])
    return msgspec.structs.replace(inputs, parts=parts, own=own, declared=declared)


def _pods(request: Request, value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each.pod for each in templates_of(request.kind.group, request.kind.kind, value)]


def recorded_answer(document: DecisionDocument, rules: Mapping[str, Rule]) -> BundleAnswer:
    """Return what the policies in force said, as far as the decision shows it.

    `rules` are those in force. Where nothing is enforced a finding does not say whether it would
    refuse: the decision as a whole does.
    """
    found = {each.rule for each in document.findings}
    site = {rule for rule in found if rule in rules and rules[rule].site}
    softer = {rule for rule in site if rules[rule].action == "warn"}
    refusing = {each.rule for each in document.findings if each.action.value == "deny"}
    denied = site - softer if document.if_enforced == "refused" else site & refusing
    return BundleAnswer(
        needs={each.privilege: (1, each.rule) for each in document.needs},
        denied=frozenset(r for r in found - site if r.startswith("rules/")),
        site_denied=frozenset(denied),
        site_warned=frozenset(site - denied),
        score=document.isolation.score if document.isolation else None,
    )


def live_document(request: Request, decision: Decision) -> DecisionDocument:
    """Return the decision as it is recorded, which is what bundles are compared on."""
    return build_document(
        "validate", request, decision, cluster="", seconds=0.0, name_subject=_LABEL
    )
