"""Users' NetworkPolicies that would open what no EgressAllowlist does.

Writes to the policies that Sallyport makes are refused here too.

Policies only add: who may write one could open what an allowlist would need an owner and a reason
for. So a NetworkPolicy's egress is compared with what is open already
(`egress.compiler.foreign_policies`), for which the namespace's generated policies are listed; a
policy of a kind that is not compared needs the verb `exempt` where it opens anything. Only their
controller writes generated policies.
"""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from admission.model.facts import EgressFacts, Facts
from core.base import names
from core.base.errors import InvalidObjectError
from core.base.json_errors import decode_json_as
from core.cluster import Cluster
from core.decision.decision import Action, Finding
from core.decision.request import Operation, Request
from core.egress.enrolment import WHOLLY_CLOSED
from core.kubernetes.workload_kinds import CONTROLLER_MANAGER, service_account_user
from egress.compiler.foreign_policies import EgressRule, find_excess, read_rules, split_rule
from egress.limits.settings import IntentSettings
from egress.render.generated_objects import BREAK_GLASS_NAMES

GENERATED_RULE: Final = "egress/generated"
OPENS_RULE: Final = "egress/opens"
UNCOMPARED_RULE: Final = "egress/uncompared"

_COMPARED: Final = ("networking.k8s.io", "NetworkPolicy")
_CILIUM: Final = "cilium.io"
_KINDS: Final = frozenset(
    {
        _COMPARED,
        (_CILIUM, "CiliumNetworkPolicy"),
        (_CILIUM, "CiliumClusterwideNetworkPolicy"),
        ("policy.networking.k8s.io", "ClusterNetworkPolicy"),
        ("policy.networking.k8s.io", "AdminNetworkPolicy"),
        ("policy.networking.k8s.io", "BaselineAdminNetworkPolicy"),
        *(
            (group, kind)
            for group in ("projectcalico.org", "crd.projectcalico.org")
            for kind in ("NetworkPolicy", "GlobalNetworkPolicy")
        ),
    }
)
"""What opens something on the way out, in the engines of docs/operate/egress.md."""

PREFIX: Final = "sallyport-"
_OURS: Final = "sallyport"
_DELETERS: Final = frozenset(
    {
        service_account_user("namespace-controller"),
        service_account_user("generic-garbage-collector"),
        CONTROLLER_MANAGER,
    }
)
"""Who deletes what is in a namespace that is deleted, or owned by what is gone."""

_SHOWN: Final = 4
_KEPT: Final = ("name", "labels", "annotations", "ownerReferences", "finalizers")
"""What of a generated policy's metadata is its controller's."""

Json = Mapping[str, Any]

_HEADLINE: Final = "It opens egress that no EgressAllowlist does."
_ADVICE: Final = (
    "What a rule opens is compared with what is open to all Pods that its policy selects: one that "
    f"selects them by {names.EGRESS_ACCOUNT_LABEL} is compared with that account's.",
)
_INSTEAD: Final = "Write an EgressAllowlist for it, and leave this rule out: policies only add."


@dataclass(frozen=True)
class NetworkPolicyGatherer:
    """Finds what speaks against a write of a NetworkPolicy."""

    cluster: Cluster
    settings: IntentSettings

    def judges(self, request: Request) -> bool:
        """Return whether a request writes, or deletes, a policy of a cluster."""
        kind = request.kind.group, request.kind.kind
        return request.phase is not None and kind in _KINDS

    async def facts_of(self, request: Request, facts: Facts) -> Facts:
        """Add what speaks against the policy.

        Raises:
            CannotJudgeError: something that must be known cannot be.
            InvalidObjectError: the policy does not have its kind's shape.
        """
        subject = request.subject.username
        put = msgspec.structs.replace
        if subject == self.settings.control:
            return put(facts, left_alone="Sallyport's own controller writes its policies")
        deleted = request.operation is Operation.DELETE
        if deleted and subject in _DELETERS:
            return put(facts, left_alone="Kubernetes deletes what belongs to what is gone")
        new = _read(request.object, request.kind.kind) if not deleted else None
        old = _read(request.old_object, request.kind.kind)
        closure = WHOLLY_CLOSED
        if request.namespace:
            place = await self.cluster.namespace(request.namespace)
            closure = self.settings.enrolment.closure(place)
        enrolled = closure.is_whole
        if _guarded(new, old, enrolled=closure.closes):
            return put(facts, egress=EgressFacts(*_generated(deleted=deleted)))
        if new is None or not enrolled:
            return put(facts, left_alone="it opens nothing that is closed")
        if (request.kind.group, request.kind.kind) == _COMPARED:
            found = await self._compared(request, new, old)
        else:
            found = await self._uncompared(request, new, old)
        return put(facts, egress=found) if found else put(facts, left_alone="it opens nothing")

    async def _compared(self, request: Request, new: Json, old: Json | None) -> EgressFacts | None:
        if old is not None and _selected(old) == _selected(new):
            return None
        rules = read_rules(request.object or b"", request.namespace)
        if not self.settings.compares:
            return EgressFacts(tuple(map(_not_known, rules)), _HEADLINE, _ADVICE) if rules else None
        there = await self._there(request.namespace) if rules else ()
        findings = []
        for rule in rules:
            found: dict[str, None] = {}
            for case in split_rule(rule):
                for openings in find_excess(case, there):
                    found.update(dict.fromkeys(openings))
                    await asyncio.sleep(0)  # There may be many: other reviews have their turn.
            if found:
                findings.append(_opening(rule, list(found)))
        return EgressFacts(tuple(findings), _HEADLINE, _ADVICE) if findings else None

    async def _there(self, namespace: str) -> tuple[EgressRule, ...]:
        """Return what is open in a namespace; a policy that cannot be read opens nothing known.

        What a BreakGlass opens does not count: a policy that repeats it would outlive it.
        """
        found: list[EgressRule] = []
        for raw in await self.cluster.generated_policies(namespace):
            try:
                if _name_of(raw) not in BREAK_GLASS_NAMES:
                    found += read_rules(raw, namespace, trusted=True)
            except InvalidObjectError:
                continue
            await asyncio.sleep(0)
        return tuple(found)

    async def _uncompared(
        self, request: Request, new: Json, old: Json | None
    ) -> EgressFacts | None:
        same = old is not None and all(old.get(key) == new.get(key) for key in ("spec", "specs"))
        if same or not _opens(request.kind.group, new):
            return None
        allowed = await self.cluster.allowed(
            request.subject, names.EXEMPT_VERB, names.NAMESPACES_RESOURCE, request.namespace, ""
        )
        if allowed:
            return None
        where = "here" if request.namespace else "in every namespace"
        message = f"opens egress {where}, and is of a kind that is not compared with what is open"
        remedy = "Write EgressAllowlists instead, or leave it to someone who may exempt namespaces."
        place = request.namespace or "of all names"
        advice = (
            "An administrator can grant the verb exempt on namespaces.sallyport.dev "
            f"{place} (ClusterRole sallyport-exempt).",
        )
        finding = Finding(UNCOMPARED_RULE, Action.DENY, "spec.egress", message, remedy)
        return EgressFacts((finding,), _HEADLINE, advice)


def _name_of(raw: msgspec.Raw) -> str:
    return str(decode_json_as(dict[str, Any], raw, "policy").get("metadata", {}).get("name", ""))


def _opening(rule: EgressRule, found: list[str]) -> Finding:
    more = len(found) - _SHOWN
    told = "; ".join(found[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")
    return Finding(OPENS_RULE, Action.DENY, rule.path, f"opens {told}", _INSTEAD)


def _not_known(rule: EgressRule) -> Finding:
    message = "cannot be compared with what is open, which CiliumNetworkPolicies say here"
    return Finding(UNCOMPARED_RULE, Action.DENY, rule.path, message, _INSTEAD)


def _generated(*, deleted: bool) -> tuple[tuple[Finding, ...], str]:
    if deleted:
        path, message = "", "is a policy that Sallyport's control keeps: nobody else deletes it"
        remedy = "Delete the EgressAllowlist that it says, or change it."
    else:
        path = "metadata"
        message = f"has the mark, or a name ({PREFIX}…), of policies that control alone writes"
        remedy = (
            f"Choose another name, without the label {names.MANAGED_BY_LABEL}: {_OURS}; what "
            "control makes is changed by EgressAllowlists."
        )
    finding = Finding(GENERATED_RULE, Action.DENY, path, message, remedy)
    return (finding,), "Generated policies are control's alone."


def _guarded(new: Json | None, old: Json | None, *, enrolled: bool) -> bool:
    """Return whether a generated policy is written or deleted.

    Where nothing is closed, none becomes one: it would count once the namespace is.
    """
    was, becomes = old is not None and _is_ours(old), new is not None and _is_ours(new)
    if new is None or old is None:
        return becomes or (was and enrolled)
    if not was:
        return becomes
    return enrolled and _whole(new) != _whole(old)


def _is_ours(policy: Json) -> bool:
    metadata = policy["metadata"]
    labels = metadata.get("labels") or {}
    named = str(metadata.get("name") or metadata.get("generateName") or "").startswith(PREFIX)
    return named or labels.get(names.MANAGED_BY_LABEL) == _OURS


def _whole(policy: Json) -> tuple[object, ...]:
    said = {key: value for key, value in policy.items() if key not in {"metadata", "status"}}
    return said, *(policy["metadata"].get(key) for key in _KEPT)


def _selected(policy: Json) -> tuple[object, object]:
    """Return what decides what a NetworkPolicy opens on the way out, and to whom."""
    spec = policy.get("spec") or {}
    return spec.get("podSelector") or {}, spec.get("egress") or []


def _opens(group: str, policy: Json) -> bool:
    """Return whether some egress rule does not only deny."""
    return any(_is_opening(group, rule) for rule in _egress(policy))


def _egress(policy: Json) -> Iterator[object]:
    """Yield egress rules; what has no shape that is known counts as one."""
    more = policy.get("specs") or []
    for spec in [policy.get("spec") or {}, *(more if isinstance(more, list) else [more])]:
        rules = spec.get("egress") or [] if isinstance(spec, Mapping) else [spec]
        yield from rules if isinstance(rules, list) else [rules]


def _is_opening(group: str, rule: object) -> bool:
    if not isinstance(rule, Mapping):
        return True
    # An empty rule of Cilium's selects nobody: it only has all closed that others do not open.
    return rule.get("action") != "Deny" and not (group == _CILIUM and not rule)


def _read(raw: msgspec.Raw | None, kind: str) -> Json | None:
    if raw is None:
        return None
    read: dict[str, Any] = decode_json_as(dict[str, Any], raw, kind)
    if not isinstance(read.get("metadata"), Mapping):
        raise InvalidObjectError(kind, "metadata", "must be an object")
    return read
