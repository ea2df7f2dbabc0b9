"""Decides which of an object's Pods run in a sandbox, and sets their RuntimeClass. Pure.

Only `runtimeClassName` is set: overhead and scheduling are merged by kube-apiserver, which asks
RuntimeClass admission once more after a webhook that patched (docs/adr/0028).
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import msgspec

from admission.model.facts import Facts, PodFacts, SandboxOutcome, SandboxPart
from core.base.errors import InvalidObjectError
from core.decision.decision import Need, Patch
from core.decision.namespaces import Mode
from core.decision.request import Operation, Phase, Request
from core.kubernetes.pod_templates import json_pointer
from core.kubernetes.workload_pods import templates_of
from core.sandbox.decision import (
    NAMESPACE,
    NOTED_PROFILE,
    PROFILE,
    EffectiveMode,
    ModeSource,
    RuntimeClass,
    SandboxMode,
)
from identity.requester_note_rules import NotedChange
from policies.bundle.format import Rule
from sandbox.risk_score import RiskScore, score_risk
from sandbox.runtime_choice import (
    RuntimeChoice,
    SandboxSettings,
    choose_runtime,
    is_sandbox_required,
    sandbox_record,
)

RUNTIME_CLASS_FIELD: Final = "spec.runtimeClassName"

_NONE: Final = RuntimeChoice("")
_NOBODYS: Final = EffectiveMode(SandboxMode.NEVER)

_FIXED: Final = frozenset({("batch", "Job"), ("jobset.x-k8s.io", "JobSet")})
"""Kinds of which an update may only say where their Pods run, while they are suspended: with a
class set besides, the update of a queue that lets them go would be refused (kubernetes/pkg/apis/
batch/validation, validatePodTemplateUpdate; jobset pkg/webhooks/jobset_webhook.go)."""

_REFUSING: Final = "serving.knative.dev"
"""Its webhook refuses the field unless a feature is turned on (kubernetes.podspec-runtimeclassname
of knative/serving config/core/configmaps/features.yaml)."""


def mode_of(facts: Facts, chosen: str | None) -> EffectiveMode:
    """Return the strictest of the namespace's, the chosen profile's, and that noted on the root.

    Pods are judged by their service account's rights, which may be to another profile than that
    of the workload's author.
    """
    mode, kind, setter = SandboxMode.NEVER, NAMESPACE, ""
    if facts.namespace is not None:
        mode, setter = facts.namespace.sandbox, facts.namespace.name
    if facts.profiles.sandboxes and mode is not SandboxMode.REQUIRED:
        root = facts.root
        for of, name in (
            (PROFILE, chosen),
            (NOTED_PROFILE, root.profile if root else facts.noted_profile),
        ):
            known = facts.profiles.by_name.get(name) if name else None
            if known is None or known.sandbox is mode:  # Mostly; quicker than two strictnesses.
                continue
            if known.sandbox.strictness > mode.strictness:
                mode, kind, setter = known.sandbox, of, known.name
    if mode is SandboxMode.NEVER:
        return _NOBODYS
    return EffectiveMode(mode, ModeSource(kind=kind, name=setter))


def weigh_part(
    part: SandboxPart,
    excused: Collection[Need],
    rules: Mapping[str, Rule],
    settings: SandboxSettings,
) -> RiskScore:
    """Weigh a part: its signals, and what it needs and has by an exception only."""
    by_exception = [need for need in part.needs if need in excused] if excused else ()
    return score_risk(part.signals, by_exception, rules, settings.points)


def needs_sandbox(
    part: SandboxPart, mode: SandboxMode, weighed: RiskScore, settings: SandboxSettings
) -> bool:
    """Return whether a part must run in a sandbox, whoever is behind it."""
    return is_sandbox_required(
        mode, asked=part.asked, score=weighed.score, threshold=settings.threshold
    )


def decide_sandbox(  # noqa: PLR0913  All that it is made of.
    part: SandboxPart,
    weighed: RiskScore,
    mode: EffectiveMode,
    settings: SandboxSettings,
    classes: Mapping[str, RuntimeClass | None],
    *,
    excused: bool = False,
    risky: bool = False,
) -> SandboxOutcome:
    """Decide about one part; `risky` is whether the risk of an identity demands a sandbox.

    Where it is excused, that and its author alone demand anything.
    """
    counts = SandboxMode.NEVER if excused else mode.mode
    demands = needs_sandbox(part, counts, weighed, settings)
    choice = (
        choose_runtime(settings, part.named, part.features, classes) if demands or risky else _NONE
    )
    decision = sandbox_record(
        settings, mode, weighed, choice.runtime, asked=part.asked, excused=excused
    )
    if risky and not demands:
        decision = msgspec.structs.replace(decision, identity=True)
    return SandboxOutcome(part, decision, choice.refusals)


def sandbox_decisions(facts: Facts) -> tuple[SandboxOutcome, ...]:
    """Return what was decided about each part of an object."""
    sandbox = facts.pod.sandbox if facts.pod else None
    return sandbox.decided if sandbox else ()


def sandbox_patches(request: Request, facts: Facts, *, refused: bool) -> list[Patch]:
    """Return what the mutating pass sets, of an object that is not refused."""
    pod = facts.pod
    mutating = request.phase is Phase.MUTATING and facts.mode is Mode.ENFORCE
    if not mutating or refused or pod is None or request.object is None:
        return []
    found = [each for each in sandbox_decisions(facts) if each.lacks]
    if not found:
        return []
    if (request.kind.group, request.kind.kind) == ("", "Pod"):
        new = request.operation is Operation.CREATE and not request.subresource
        return [_add("/spec", each.lacks) for each in found] if new else []
    settable = _is_authors(pod, facts) and _takes_it(request)
    return list(_in_templates(request, request.object, found)) if settable else []


def _is_authors(pod: PodFacts, facts: Facts) -> bool:
    """Return whether the author of a workload that nothing owns submits its templates.

    What a controller makes has its owner's template: a Deployment would make its ReplicaSet anew,
    for ever, if this one's were changed.
    """
    change, own = facts.notes, pod.sandbox is not None and pod.sandbox.is_root
    return own and change is not None and change.workload and change.change is NotedChange.RENEWED


def _takes_it(request: Request) -> bool:
    """Return whether the templates of a kind may be changed here; of the others the Pods get it."""
    if request.kind.group == _REFUSING:
        return False
    fixed = (request.kind.group, request.kind.kind) in _FIXED
    return request.operation is Operation.CREATE or not fixed


def _in_templates(
    request: Request, whole: msgspec.Raw, found: list[SandboxOutcome]
) -> Iterator[Patch]:
    """Set it in the templates that are written as Pods are; of the others the Pods get it.

    Nor in those that an update leaves as they were: it may change another of several.
    """
    value: Any = msgspec.json.decode(whole)
    before = _pods_before(request)
    for each in found:
        template = each.part.template
        if template is None or template.partial or not template.pod["spec"]:
            continue
        if template.pod in before:
            continue
        pointer = json_pointer(value, template.place("spec"))
        if pointer is not None:
            yield _add(pointer, each.lacks)


def _pods_before(request: Request) -> list[Any]:
    """Return the Pods of the old object's templates; what was broken has none."""
    if request.old_object is None:
        return []
    old: Any = msgspec.json.decode(request.old_object)
    try:
        found = templates_of(request.kind.group, request.kind.kind, old)
    except InvalidObjectError:
        return []
    return [each.pod for each in found]


def _add(spec: str, runtime: str) -> Patch:
    return {"op": "add", "path": f"{spec}/runtimeClassName", "value": runtime}
