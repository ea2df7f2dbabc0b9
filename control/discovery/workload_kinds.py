"""Custom kinds whose definitions have Pod templates, and the webhooks for them. Pure.

`docs/operate/workloads.md` says what is found; `docs/adr/0027` why these webhooks fail open.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from core.kubernetes.crds import read_definition
from core.kubernetes.workload_kinds import may_carry

NAME: Final = "sallyport-discovered"
"""Of both registrations; the chart makes them, empty."""

_API_VERSION: Final = "admissionregistration.k8s.io/v1"


@dataclass(frozen=True)
class WorkloadKind:
    """A kind whose objects carry Pods."""

    definition: str
    """Name of its CustomResourceDefinition: `widgets.example.com`."""
    uid: str
    """The definition's."""
    group: str
    resource: str
    versions: tuple[str, ...]
    """All that are served."""
    scope: str
    paths: tuple[str, ...]
    """Where its templates lie, in any version; empty where its schema hides them."""

    def rule(self) -> dict[str, Any]:
        """Return the webhook rule for it. Its subresources make no Pods of another kind."""
        return {
            "apiGroups": [self.group],
            "apiVersions": list(self.versions),
            "operations": ["CREATE", "UPDATE"],
            "resources": [self.resource],
            "scope": self.scope,
        }


@dataclass(frozen=True)
class DiscoveryChoices:
    """What the operator says of definitions, by their names."""

    search: frozenset[str] = frozenset()
    """Their schemas hide templates: objects are searched."""
    skip: frozenset[str] = frozenset()
    """They are left out, whatever their schemas say."""


def find_workload_kind(
    definition: Mapping[str, Any], wanted: DiscoveryChoices
) -> WorkloadKind | None:
    """Return the kind of a definition if its objects carry Pods, and the table does not list it.

    Raises:
        InvalidObjectError: it has not the shape of a definition.
    """
    read = read_definition(definition)
    if not read.versions or read.name in wanted.skip or not may_carry(read.group, read.kind):
        return None
    paths = read.paths()
    if not paths and not (read.name in wanted.search and read.hides()):
        return None
    return WorkloadKind(
        definition=read.name,
        uid=read.uid,
        group=read.group,
        resource=read.resource,
        versions=read.versions,
        scope=read.scope,
        paths=paths,
    )


@dataclass(frozen=True)
class Registration:
    """One of the two webhook registrations, and the chart's webhook that it goes by."""

    kind: str
    resource: str
    model: str
    """The webhook of the registration `sallyport` whose gate, CA and namespaces are taken."""
    webhook: str
    extra: Mapping[str, Any]

    def body(
        self, uid: str, shipped: Mapping[str, Any] | None, kinds: Iterable[WorkloadKind]
    ) -> dict[str, Any]:
        """Return what is applied: one webhook; none where the chart's `shipped` one is not there.

        With its UID, so that a registration that was taken away is not made again.
        """
        metadata = {
            "name": NAME,
            "uid": uid,
            "annotations": {"admissions.enforcer/disabled": "true"},
        }
        webhooks = [self._webhook(shipped, kinds)] if shipped else []
        head = {"apiVersion": _API_VERSION, "kind": self.kind}
        return {**head, "metadata": metadata, "webhooks": webhooks}

    def _webhook(self, shipped: Mapping[str, Any], kinds: Iterable[WorkloadKind]) -> dict[str, Any]:
        taken = ("clientConfig", "namespaceSelector", "timeoutSeconds")
        return {
            "name": self.webhook,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Ignore",
            "matchPolicy": "Equivalent",
            **{field: shipped[field] for field in taken if field in shipped},
            **self.extra,
            "rules": [each.rule() for each in kinds],
        }


REGISTRATIONS: Final = (
    Registration(
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        "notes.sallyport.dev",
        "discovered-notes.sallyport.dev",
        {"reinvocationPolicy": "Never"},
    ),
    Registration(
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        "workloads.sallyport.dev",
        "discovered.sallyport.dev",
        {},
    ),
)
"""Notes first: what is noted is there before anybody looks whether it is right."""


def webhook_of(configuration: Mapping[str, Any] | None, name: str) -> Mapping[str, Any] | None:
    """Return the webhook of a name; None where there is none."""
    webhooks = (configuration or {}).get("webhooks") or []
    return next((each for each in webhooks if each.get("name") == name), None)


def is_current(live: Mapping[str, Any], body: Mapping[str, Any], webhook: str) -> bool:
    """Return whether a registration has what `body` sets; what others add is theirs."""
    annotations = live["metadata"].get("annotations") or {}
    if not body["metadata"]["annotations"].items() <= annotations.items():
        return False
    wanted, found = webhook_of(body, webhook), webhook_of(live, webhook)
    if wanted is None or found is None:
        return wanted is found
    return all((found.get(field) or []) == (value or []) for field, value in wanted.items())


def covered_resources(live: Mapping[str, Any], webhook: str) -> set[tuple[str, str]]:
    """Return group and resource of what a registration covers already."""
    found = webhook_of(live, webhook) or {}
    return {
        (group, resource)
        for rule in found.get("rules") or []
        for group in rule.get("apiGroups") or []
        for resource in rule.get("resources") or []
    }


def foreign_webhooks(live: Mapping[str, Any], webhook: str) -> Collection[str]:
    """Return the names of webhooks in a registration that are not its own."""
    return [each["name"] for each in live.get("webhooks") or [] if each["name"] != webhook]
