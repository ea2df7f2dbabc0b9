"""Labels by which egress policies select a Pod: only the gate sets them, at its creation.

Who may write a Pod writes its labels; so those under `egress.sallyport.dev/` must match exactly
where they are due, and are refused everywhere else, whoever asks (docs/adr/0030). It reads the
namespace and where the Pod was traced to; in an enrolled namespace also whether it is closed, which
is in memory (`kube.egress.generated_policies`).
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from admission.approvals.break_glass import is_in_force
from admission.egress.check import BREAK_GLASS, HOST_NETWORK
from admission.model.facts import EgressFacts, Facts
from admission.model.judged_object import LeftAlone, Reading
from admission.objects.size_limits import is_too_large
from core.approvals.break_glass_egress import BreakGlassOpening, egress_opening
from core.base import names
from core.base.errors import AccessReviewError, InvalidObjectError, NotSyncedError
from core.base.safe_text import printable
from core.cluster import Cluster
from core.decision.decision import Action, Finding, Patch
from core.decision.namespaces import Namespace
from core.decision.request import DecodedPod, Operation, Phase, Request
from core.egress.pod_labels import PREFIX, egress_labels, reserved_labels
from core.kubernetes.label_selectors import matches
from core.kubernetes.object_meta import ObjectMeta
from core.kubernetes.pod import Pod, decode_metadata
from core.people.two_person import ORDINARY_TERMS, ApprovalTerms
from egress.limits.settings import IntentSettings

LABELS_RULE: Final = "egress/labels"
DEFAULT_DENY_RULE: Final = "egress/default-deny"
_HOST_NETWORK: Final = "spec.hostNetwork"

_POD: Final = ("", "Pod")
_BINDING: Final = ("", "Binding")
"""kube-apiserver copies its labels to the Pod, those that the Pod has not (kubernetes
pkg/registry/core/pod/storage, copyLabelsWithoutOverwriting)."""

_AGAIN: Final = (
    "Submit it again; if this stays, tell your cluster's operators that Sallyport's mutating "
    "webhook does not run."
)
_RESERVED: Final = f"is reserved: only the gate sets labels under {PREFIX}"
_HEADLINE: Final = "Labels that open egress are the gate's alone."
_NAME: Final = 80
"""Characters shown of a label."""


@dataclass(frozen=True)
class PodLabelGatherer:
    """Finds the egress labels that are due on a Pod, and those that are wrong on an object."""

    cluster: Cluster
    settings: IntentSettings
    terms: ApprovalTerms = ORDINARY_TERMS
    clock: Callable[[], float] = time.time

    async def facts_of(self, request: Request, reading: Reading | LeftAlone, facts: Facts) -> Facts:
        """Add which labels are due, and what is wrong with those that are there.

        Raises:
            InvalidObjectError: its metadata has not the shape that Kubernetes gives it.
            NotSyncedError: it is not known whether an enrolled namespace is closed.
        """
        beside = self._beside(reading, facts)
        if not request.running:
            beside += await self._opened(request, reading, facts)
        found = None if request.running else await self._found(request, reading, facts)
        if beside:
            found = msgspec.structs.replace(found or EgressFacts(), beside=beside)
        return msgspec.structs.replace(facts, egress=found) if found else facts

    def _beside(self, reading: Reading | LeftAlone, facts: Facts) -> tuple[Finding, ...]:
        """Warn of Pods that no policy holds; so they stand in the sweep's reports too."""
        place = facts.namespace
        if (
            isinstance(reading, LeftAlone)
            or place is None
            or not self.settings.enrolment.enrols(place)
        ):
            return ()
        return tuple(
            _on_node(part.template.place(_HOST_NETWORK) if part.template else _HOST_NETWORK)
            for part, pod in zip(reading.parts, reading.pods, strict=False)
            if pod.spec.host_network
        )

    async def _opened(
        self, request: Request, reading: Reading | LeftAlone, facts: Facts
    ) -> tuple[Finding, ...]:
        """Warn of a Pod that a BreakGlass lets connect everywhere but to reserved ranges."""
        place, is_new = facts.namespace, request.operation is Operation.CREATE
        if isinstance(reading, LeftAlone) or place is None or not is_new:
            return ()
        if (request.kind.group, request.kind.kind) != _POD:
            return ()
        closure = self.settings.enrolment.closure(place)
        if not closure.closes:
            return ()
        root = facts.root
        labels = egress_labels(
            reading.pods[0].spec.account, (root.kind, root.name) if root else None
        )
        if not matches(closure.selects, labels):
            return ()
        return tuple([_glass(each) for each in await self._openings(place.name, labels)])

    async def _openings(self, namespace: str, labels: Mapping[str, str]) -> list[BreakGlassOpening]:
        """Return by which BreakGlasses a Pod is open; none where it is not known."""
        now = self.clock()
        try:
            return [
                opening
                for each in self.cluster.break_glasses.activated_in(namespace)
                if (opening := egress_opening(each))
                and each.is_open(now)
                and opening.holds(labels)
                and await is_in_force(self.cluster, each, now, self.terms)
            ]
        except (NotSyncedError, AccessReviewError):  # It is only to warn: control asks by itself.
            return []

    def holds(self, request: Request, namespace: Namespace | None) -> bool:
        """Return whether a request that cannot be judged is refused in every mode.

        A label that nobody looked at would open what it names, today or once it is enrolled.
        """
        kind = request.kind.group, request.kind.kind
        if kind not in {_POD, _BINDING} or request.phase is None:
            return False
        closure = self.settings.enrolment.closure(namespace) if namespace is not None else None
        if kind == _POD and closure is not None and closure.closes:
            return True
        if is_too_large(request):
            return True  # To look for its labels takes as long as to judge it.
        try:
            return bool(_reserved(_metadata(request)))
        except InvalidObjectError:
            return True

    async def _found(
        self, request: Request, reading: Reading | LeftAlone, facts: Facts
    ) -> EgressFacts | None:
        kind = request.kind.group, request.kind.kind
        if kind == _POD:
            if request.operation is Operation.UPDATE:
                return _wrong(_changed(request))
            if not isinstance(reading, LeftAlone):
                return await self._of_new_pod(request, reading.pods[0], facts)
            return _wrong(_none_due(_metadata(request)))  # A static Pod that a node shows.
        if kind == _BINDING:
            return _wrong(_none_due(_metadata(request)))
        return None if isinstance(reading, LeftAlone) else _wrong(_in_templates(reading))

    async def _of_new_pod(self, request: Request, pod: Pod, facts: Facts) -> EgressFacts | None:
        place = facts.namespace
        if request.phase is None or place is None:
            return _wrong(_none_due(pod.metadata))
        closure = self.settings.enrolment.closure(place)
        if not closure.labels_pods:
            return _wrong(_none_due(pod.metadata))
        root = facts.root
        account = pod.spec.account
        due = egress_labels(account, (root.kind, root.name) if root else None)
        others = (_unknown(key) for key in _reserved(pod.metadata) if key not in due)
        if request.phase is Phase.MUTATING:
            return EgressFacts(tuple(others), _HEADLINE, due=due)
        if not closure.is_whole and due[names.EGRESS_WORKLOAD_LABEL] not in closure.workloads:
            due = {key: value for key, value in due.items() if key in (pod.metadata.labels or {})}
        wrong = (*_not_due(pod.metadata, due), *others)
        if not closure.is_whole:
            return _wrong(wrong)
        if await self.cluster.is_egress_closed(place.name):
            return _wrong(wrong)
        return EgressFacts((*wrong, _not_closed()), "Its namespace is not closed yet: try again.")


def label_patches(request: Request, facts: Facts) -> list[Patch]:
    """Return what the mutating pass sets on a new Pod, over whatever its author wrote there.

    Labels that somebody copied from another Pod, or restored from a backup, are replaced.
    """
    due = facts.egress.due if facts.egress else {}
    if not due or request.phase is not Phase.MUTATING:
        return []
    there = _metadata(request).labels
    if not there:
        return [{"op": "add", "path": "/metadata/labels", "value": dict(due)}]
    return [
        {"op": "add", "path": f"/metadata/labels/{key.replace('/', '~1')}", "value": value}
        for key, value in due.items()
        if there.get(key) != value
    ]


def _wrong(findings: tuple[Finding, ...]) -> EgressFacts | None:
    return EgressFacts(findings, _HEADLINE) if findings else None


def _none_due(metadata: ObjectMeta) -> tuple[Finding, ...]:
    return tuple([_unknown(key) for key in metadata.labels or () if key.startswith(PREFIX)])


def _not_due(metadata: ObjectMeta, due: Mapping[str, str]) -> Iterator[Finding]:
    there = metadata.labels or {}
    for key, value in due.items():
        if key not in there:
            yield _finding(key, "is missing: policies know the Pod by it", _AGAIN)
        elif there[key] != value:
            message = f"must be {value}, which only the gate sets"
            yield _finding(key, message, f"Leave the label out of your manifest. {_AGAIN}")


def _changed(request: Request) -> tuple[Finding, ...]:
    """Refuse every change; what is wrong already, and stays, keeps no Pod from being ended."""
    new = _reserved(_metadata(request))
    if request.old_object is None:
        return tuple(map(_unknown, new))
    old = _reserved(decode_metadata(request.old_object, request.kind.kind))
    message = "is the gate's own label, which never changes"
    return tuple(
        _finding(key, message, "Leave it as it was." if key in old else "Leave the label out.")
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
    )


def _in_templates(reading: Reading) -> tuple[Finding, ...]:
    remedy = "Take it out of the template: the gate sets it on the Pods, where it is due."
    return tuple(
        Finding(LABELS_RULE, Action.DENY, part.template.place(_path(key)), _RESERVED, remedy)
        for part, pod in zip(reading.parts, reading.pods, strict=False)
        if part.template is not None
        for key in _reserved(pod.metadata)
    )


def _on_node(path: str) -> Finding:
    message = "puts the Pod on its node's network, where no policy of egress holds it"
    remedy = "Leave it out, unless the Pod needs the node's network itself."
    return Finding(HOST_NETWORK, Action.WARN, path, message, remedy)


def _glass(opening: BreakGlassOpening) -> Finding:
    message = f"connects {opening.reach}"
    remedy = "Write an EgressAllowlist for what it needs after that."
    return Finding(BREAK_GLASS, Action.WARN, "metadata.namespace", message, remedy)


def _not_closed() -> Finding:
    message = "is enrolled for egress, and its policy sallyport-default-deny is not in place yet"
    remedy = (
        "Try again in some seconds; if this stays, tell your cluster's operators that Sallyport's "
        "control does not write it."
    )
    return Finding(DEFAULT_DENY_RULE, Action.DENY, "metadata.namespace", message, remedy)


def _unknown(key: str) -> Finding:
    return _finding(key, _RESERVED, "Leave the label out.")


def _finding(key: str, message: str, remedy: str) -> Finding:
    return Finding(LABELS_RULE, Action.DENY, _path(key), message, remedy)


def _path(key: str) -> str:
    return f"metadata.labels[{printable(key, _NAME)}]"


def _reserved(metadata: ObjectMeta) -> Mapping[str, str]:
    return reserved_labels(metadata.labels) if metadata.labels else {}


def _metadata(request: Request) -> ObjectMeta:
    submitted = request.submitted
    if isinstance(submitted, DecodedPod):
        return submitted.pod.metadata
    if submitted is None:
        raise InvalidObjectError(request.kind.kind, "object", "the review holds none")
    return decode_metadata(submitted, request.kind.kind)
