"""Decides which of an object's Pods run in a sandbox, and sets their RuntimeClass. Pure.

Only `runtimeClassName` is set: overhead and scheduling are merged by kube-apiserver, which asks
RuntimeClass admission once more after a webhook that patched (docs/adr/0028).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from admission.checks.profiles import profiles
from admission.facts import Facts, Isolated, PodFacts, SandboxPart
from core.decision import Patch
from core.namespaces import Mode
from core.request import Operation, Phase, Request
from core.sandbox import RuntimeClass, SandboxMode
from core.templates import pointer_to
from identity.requester import Change
from sandbox.choosing import Choice, Site, choose, demanded, isolation_of
from sandbox.weighing import Weighed, weigh

FIELD: Final = "spec.runtimeClassName"

_NONE: Final = Choice("")


def mode_of(request: Request, facts: Facts) -> SandboxMode:
    """Give the strictest of the namespace's, the profile's, and the one noted on the root.

    Pods are judged by their service account's rights, which may be to another profile than that
    of the workload's author.
    """
    mode = facts.namespace.sandbox if facts.namespace else SandboxMode.NEVER
    if not facts.profiles.sandboxes or mode is SandboxMode.REQUIRED:
        return mode
    profile = profiles(request, facts).profile
    root = facts.origin.root if facts.origin else None
    for name in (profile, root.profile if root else None):
        known = facts.profiles.by_name.get(name) if name else None
        if known is not None and known.sandbox.strictness > mode.strictness:
            mode = known.sandbox
    return mode


def weigh_parts(
    parts: Iterable[SandboxPart], pod: PodFacts, facts: Facts, site: Site
) -> tuple[Weighed, ...]:
    """Weigh each part: its signals, and what it needs and has by an exception only."""
    excused = frozenset(pod.excused)
    return tuple(
        weigh(
            part.signals,
            [need for need in part.needs if need in excused] if excused else (),
            facts.rules,
            site.points,
        )
        for part in parts
    )


def must(part: SandboxPart, mode: SandboxMode, weighed: Weighed, site: Site) -> bool:
    """Say whether a part must run in a sandbox."""
    return demanded(mode, asked=part.asked, score=weighed.score, threshold=site.threshold)


def decide(  # noqa: PLR0913  All that it is made of.
    part: SandboxPart,
    weighed: Weighed,
    mode: SandboxMode,
    site: Site,
    classes: Mapping[str, RuntimeClass | None],
    *,
    excused: bool = False,
) -> Isolated:
    """Decide about one part; where it is excused, only its author demands anything."""
    counts = SandboxMode.NEVER if excused else mode
    demands = must(part, counts, weighed, site)
    choice = choose(site, part.named, part.features, classes) if demands else _NONE
    isolation = isolation_of(site, mode, weighed, choice.runtime, asked=part.asked, excused=excused)
    return Isolated(part, isolation, choice.refusals)


def isolated(facts: Facts) -> tuple[Isolated, ...]:
    """Give what was decided about each part of an object."""
    sandbox = facts.pod.sandbox if facts.pod else None
    return sandbox.decided if sandbox else ()


def isolate(request: Request, facts: Facts, *, refused: bool) -> list[Patch]:
    """Give what the mutating pass sets, of an object that is not refused."""
    pod = facts.pod
    mutating = request.phase is Phase.MUTATING and facts.mode is Mode.ENFORCE
    if not mutating or refused or pod is None or request.object is None:
        return []
    found = [each for each in isolated(facts) if each.lacks]
    if not found:
        return []
    if (request.kind.group, request.kind.kind) == ("", "Pod"):
        new = request.operation is Operation.CREATE and not request.subresource
        return [_add("/spec", each.lacks) for each in found] if new else []
    return list(_in_templates(request.object, found)) if _is_authors(pod, facts) else []


def _is_authors(pod: PodFacts, facts: Facts) -> bool:
    """Say whether the author of a workload that nothing owns submits its templates.

    What a controller makes has its owner's template: a Deployment would make its ReplicaSet anew,
    for ever, if this one's were changed.
    """
    change, own = facts.notes, pod.sandbox is not None and pod.sandbox.own
    return own and change is not None and change.workload and change.change is Change.RENEWED


def _in_templates(whole: msgspec.Raw, found: list[Isolated]) -> Iterator[Patch]:
    """Set it in the templates that are written as Pods are; of the others the Pods get it."""
    value: Any = msgspec.json.decode(whole)
    for each in found:
        template = each.part.template
        if template is None or template.partial or not template.pod["spec"]:
            continue
        pointer = pointer_to(value, template.place("spec"))
        if pointer is not None:
            yield _add(pointer, each.lacks)


def _add(spec: str, runtime: str) -> Patch:
    return {"op": "add", "path": f"{spec}/runtimeClassName", "value": runtime}
