"""Webhooks and policies of others that meet Sallyport's. Pure.

kube-apiserver calls mutating webhooks one after another, in the order of their configurations'
names (k8s.io/apiserver pkg/admission/configuration, mutating_webhook_manager.go), then all
validating ones at once.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from cli.preflight.cluster.model import PreflightNotes
from core.base.safe_text import join_some
from core.kubernetes.label_selectors import selects

_OWN: Final = "sallyport"
_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_ENGINES: Final[Mapping[str, str]] = {
    "gatekeeper": "Gatekeeper",
    "kyverno": "Kyverno",
    "azure-policy": "Azure Policy",
}
_SLOW_S: Final = 15
_WHOLE_S: Final = 25
"""Seconds of all mutating webhooks together; Sallyport's five come on top."""
_SHOWN: Final = 6


def judge_webhooks(
    mutating: Sequence[Mapping[str, Any]],
    validating: Sequence[Mapping[str, Any]],
    own_namespace: str,
    notes: PreflightNotes,
) -> None:
    """Say which webhooks of others meet Sallyport's, and how."""
    mutating, validating = _others(mutating), _others(validating)
    _judge_order(mutating, notes)
    _judge_time(mutating, validating, notes)
    _judge_circles([*mutating, *validating], own_namespace, notes)
    _judge_engines([*mutating, *validating], notes)


def _others(configurations: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [each for each in configurations if not _name(each).startswith(_OWN)]


def _judge_order(mutating: Sequence[Mapping[str, Any]], notes: PreflightNotes) -> None:
    later = sorted(
        _name(each)
        for each in mutating
        if _name(each) > _OWN and any(map(_takes_pods, _hooks(each)))
    )
    if later:
        notes.find(
            "webhooks",
            "warning",
            f"{join_some(later, _SHOWN)} change Pods after Sallyport's mutating webhook: what they "
            "add is judged by the profile that was noted before, what they take away is refused "
            "before",
            "give their configurations a name that sorts before `sallyport`, or give the Pods a "
            "profile that covers what they add",
            "install.md",
        )


def _judge_time(
    mutating: Sequence[Mapping[str, Any]],
    validating: Sequence[Mapping[str, Any]],
    notes: PreflightNotes,
) -> None:
    slow = sorted(
        f"{_name(each)} ({_timeout(hook)} s)"
        for each in (*mutating, *validating)
        for hook in _hooks(each)
        if _takes_pods(hook) and _timeout(hook) > _SLOW_S
    )
    if slow:
        notes.find(
            "webhooks",
            "note",
            f"{join_some(slow, _SHOWN)} may hold up a Pod for so long",
            "ask their owners for a timeoutSeconds of 10 or less",
            "failures.md",
        )
    whole = sum(_timeout(h) for each in mutating for h in _hooks(each) if _takes_pods(h))
    if whole > _WHOLE_S:
        notes.find(
            "webhooks",
            "warning",
            f"mutating webhooks of others may take {whole} s of a Pod's creation in all, one after "
            "another: a client gives up after 30 to 60 s",
            "shorten their timeoutSeconds",
            "failures.md",
        )


def _judge_circles(
    configurations: Sequence[Mapping[str, Any]], own: str, notes: PreflightNotes
) -> None:
    """Find webhooks that fail closed for Pods of Sallyport's own namespace."""
    closed = sorted(
        {
            _name(each)
            for each in configurations
            for hook in _hooks(each)
            if hook.get("failurePolicy", "Fail") == "Fail"
            and _takes_pods(hook)
            and not _leaves_out(hook, own)
        }
    )
    if closed:
        notes.find(
            "webhooks",
            "warning",
            f"{join_some(closed, _SHOWN)} refuse Sallyport's own Pods while they are away "
            "(failurePolicy Fail): if they and the gates are away together, neither may come back",
            f"leave the namespace {own} out of them, and theirs out of Sallyport "
            "(webhooks.excludedNamespaces) where it is theirs that guard the cluster",
            "disaster.md",
        )


def _judge_engines(configurations: Sequence[Mapping[str, Any]], notes: PreflightNotes) -> None:
    names = {_name(each) for each in configurations}
    for sign, engine in _ENGINES.items():
        found = sorted(each for each in names if sign in each)
        if found:
            notes.find(
                "policies",
                "note",
                f"{engine} judges here too ({join_some(found, _SHOWN)}): both must admit a Pod",
                "compare before both enforce: sallyport policy import gatekeeper reads its rules"
                if engine != "Kyverno"
                else "compare before both enforce, and drop rules that say the same",
                "rollout.md",
            )


def judge_azure_policy(deployments: Iterable[str], notes: PreflightNotes) -> None:
    """Say that the add-on of Azure Policy is there, by its Deployment in kube-system."""
    if "azure-policy" in set(deployments):
        notes.find(
            "policies",
            "note",
            "Azure Policy's add-on runs: its assignments refuse by Gatekeeper",
            "set assignments that say the same as Sallyport to audit, or drop them",
            "rollout.md",
        )


def _name(configuration: Mapping[str, Any]) -> str:
    return str(configuration["metadata"]["name"])


def _hooks(configuration: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(configuration.get("webhooks") or [])


def _timeout(hook: Mapping[str, Any]) -> int:
    return int(hook.get("timeoutSeconds") or 10)


def _takes_pods(hook: Mapping[str, Any]) -> bool:
    return any(_is_of_pods(rule) for rule in hook.get("rules") or [])


def _is_of_pods(rule: Mapping[str, Any]) -> bool:
    groups, resources = rule.get("apiGroups") or [], rule.get("resources") or []
    operations = rule.get("operations") or []
    return (
        bool({"", "*"} & set(groups))
        and bool({"pods", "*", "*/*"} & set(resources))
        and bool({"CREATE", "*"} & set(operations))
    )


def _leaves_out(hook: Mapping[str, Any], namespace: str) -> bool:
    """Return whether a namespace without labels of its own is not asked about."""
    return not selects(hook.get("namespaceSelector"), {_NAME_LABEL: namespace})
