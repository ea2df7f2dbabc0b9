"""What is known of a request beside its object, for the policies (`policies.projection.context`).

It reads memory: the Services that let traffic in from outside, and when service accounts were made.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from admission.model.facts import Facts
from core.base.errors import NotSyncedError
from core.cluster import Cluster
from core.decision.namespaces import Namespace
from core.decision.request import Request
from core.kubernetes.pod import Pod
from core.people.subject import Subject, pseudonymous_group
from core.sandbox.decision import SandboxMode
from identity.subject_kind import SubjectKind
from policies.projection.context import (
    ABSENT,
    ABSENT_BESIDES_RISK,
    NO_STANDINGS,
    Context,
    encode_context,
)

_DEFAULT_ACCOUNT: Final = "default"
"""The service account of a Pod that names none (kubernetes/plugin/pkg/admission/serviceaccount)."""

_MOST_SERVICES: Final = 8
"""Services that are named: one is enough to count, and thousands may select a Pod."""

_MOST_KEPT: Final = 512
"""Contexts; each takes about 1 KB."""

_MOST_GROUPS: Final = 64
"""Of a requester whose context is kept."""

_UNSEEN: Final = ("services", "service-accounts")


class Seen(NamedTuple):
    """What the cluster shows of a Pod's surroundings."""

    services: tuple[str, ...] = ()
    """Names of the first that let in from outside of the cluster what the Pod serves."""
    new_account: bool = False
    """Whether its service account was made lately."""
    absent: tuple[str, ...] = ()
    """What of these is not known."""


NOTHING_SEEN: Final = Seen()
"""Of what is no Pod."""


@dataclass(frozen=True)
class Situations:
    """Knows what policies may see of a request."""

    cluster: Cluster
    kind_of: Callable[[Subject], SubjectKind]
    clock: Callable[[], float]
    new_account_s: float
    """Age in seconds below which a service account counts as new."""
    _kept: dict[Hashable, tuple[Namespace | None, tuple[bytes, bytes]]] = field(
        default_factory=dict
    )
    """Told by the namespace's identity too."""

    def seen(self, request: Request, pod: Pod, mode: SandboxMode) -> Seen:
        """Give what the cluster shows of a Pod of the request.

        Raises:
            NotSyncedError: it is not known, and the score decides.
        """
        if not request.namespace:
            return NOTHING_SEEN
        try:
            services = self.cluster.exposing(request.namespace, pod.metadata.labels or {})
            return Seen(services[:_MOST_SERVICES], self._is_new(request.namespace, pod))
        except NotSyncedError:
            if mode is SandboxMode.BY_RISK:
                raise
            return Seen(absent=_UNSEEN)

    def context(self, request: Request, facts: Facts, seen: Seen) -> bytes:
        """Give what policies see, as JSON."""
        return self.contexts(request, facts, seen)[0]

    def contexts(self, request: Request, facts: Facts, seen: Seen) -> tuple[bytes, bytes]:
        """Give what policies see, and what is recorded of it: without names of groups.

        What is asked again is made once: of one Pod, and of all that a controller makes.
        """
        subject, risk = request.subject, facts.risk
        if len(subject.groups) > _MOST_GROUPS:
            return self._made(request, facts, seen)
        known_risk = risk and (risk.standings, risk.behaviour)
        asked = (request.operation, request.subresource, request.namespace)
        key = (asked, subject.username, subject.label, *subject.groups, seen, known_risk)
        kept = self._kept.get(key)
        if kept is None or kept[0] is not facts.namespace:
            kept = (facts.namespace, self._made(request, facts, seen))
            self._kept[key] = kept
            if len(self._kept) > _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
        return kept[1]

    def _made(self, request: Request, facts: Facts, seen: Seen) -> tuple[bytes, bytes]:
        subject, namespace, risk = request.subject, facts.namespace, facts.risk
        groups = tuple(sorted(subject.groups))
        context = Context(
            operation=request.operation.value,
            subresource=request.subresource,
            namespace=request.namespace,
            requester=self.kind_of(subject).value,
            groups=groups,
            namespace_labels=namespace.labels if namespace else {},
            new_service_account=seen.new_account,
            services=seen.services,
            risk=risk.standings if risk else NO_STANDINGS,
            behaviour=risk.behaviour if risk else (),
            absent=(*(ABSENT_BESIDES_RISK if risk else ABSENT), *seen.absent),
        )
        encoded = encode_context(context)
        unnamed = tuple(map(pseudonymous_group, groups))
        if unnamed == groups:
            return encoded, encoded
        return encoded, encode_context(msgspec.structs.replace(context, groups=unnamed))

    def _is_new(self, namespace: str, pod: Pod) -> bool:
        spec = pod.spec
        name = spec.service_account_name or spec.service_account or _DEFAULT_ACCOUNT
        made = self.cluster.service_account_made(namespace, name)
        return made is None or self.clock() - made < self.new_account_s
