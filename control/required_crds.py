"""Checks the CustomResourceDefinitions that this release needs."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import structlog
from prometheus_client import CollectorRegistry, Gauge

from control.loop import Loop
from core.base import names
from kube.client.objects import Objects
from kube.leader.lease import Leadership

INTERVAL_S: Final = 60.0

NEEDED: Final = tuple(
    f"{resource}.{names.GROUP}"
    for resource in (
        names.PROFILES_RESOURCE,
        names.EXCEPTIONS_RESOURCE,
        names.APPROVALS_RESOURCE,
        names.ALLOWLISTS_RESOURCE,
        names.DESTINATIONS_RESOURCE,
        names.BREAK_GLASSES_RESOURCE,
        names.CLUSTER_APPROVALS_RESOURCE,
        names.ACCESS_GRANTS_RESOURCE,
        names.WEIGHT_STORES_RESOURCE,
        names.BACKSTOPS_RESOURCE,
        names.AUDIT_STATEMENTS_RESOURCE,
    )
)
"""The definitions that this release reads."""

WITH_STATUS: Final = frozenset(
    f"{resource}.{names.GROUP}"
    for resource in (
        names.EXCEPTIONS_RESOURCE,
        names.APPROVALS_RESOURCE,
        names.ALLOWLISTS_RESOURCE,
        names.BREAK_GLASSES_RESOURCE,
        names.CLUSTER_APPROVALS_RESOURCE,
        names.ACCESS_GRANTS_RESOURCE,
    )
)
"""Those of them whose status `control` writes."""

_PATH: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_VERSION: Final = names.API_VERSION.partition("/")[2]
_INSTALL: Final = "install the chart sallyport-crds of this release"

NO_STATUS: Final = f"it has no status; {_INSTALL}"

_CONDITIONS: Final = {
    "Established": ("True", "kube-apiserver does not serve it yet"),
    "NamesAccepted": ("True", "another definition has one of its names; remove that one"),
    "NonStructuralSchema": ("False", f"its schema is not structural; {_INSTALL}"),
    "Terminating": ("False", "it is being deleted, with all its objects; install it again then"),
}
"""What each condition must be, where it is set (apiextensions.k8s.io/v1), and what if not."""

_log = structlog.get_logger(__name__)


class RequiredDefinitions:
    """Each run looks at them; a trouble is logged once and shown as a metric."""

    def __init__(self, objects: Objects, registry: CollectorRegistry) -> None:
        self._objects = objects
        self._known: dict[str, list[str]] = {}
        self._healthy = Gauge(
            "sallyport_crd_healthy",
            "1 when the definition is as this release needs it.",
            ("crd",),
            registry=registry,
        )
        self.loop = Loop("crds", INTERVAL_S, self.run, forget=self._healthy.clear)

    async def run(self, leadership: Leadership) -> None:
        """Look at each once; nothing is written.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
        """
        leadership.require()
        for name in NEEDED:
            definition = await self._objects.get(f"{_PATH}/{name}")
            found = list(find_definition_problems(definition, _VERSION))
            if name in WITH_STATUS and definition is not None and not has_status(definition):
                found.append(NO_STATUS)
            self._healthy.labels(name).set(not found)
            if found != self._known.get(name, []):
                self._tell(name, found)
            self._known[name] = found

    def _tell(self, name: str, found: list[str]) -> None:
        if found:
            _log.error("CustomResourceDefinition is not sound", crd=name, troubles=found)
        else:
            _log.info("CustomResourceDefinition is sound again", crd=name)


async def read_definition(objects: Objects, resource: str) -> Mapping[str, Any] | None:
    """Return the definition of a kind of Sallyport's; None where there is none.

    Raises:
        ClusterError: kube-apiserver does not answer, or refuses.
    """
    return await objects.get(f"{_PATH}/{resource}.{names.GROUP}")


def has_status(definition: Mapping[str, Any]) -> bool:
    """Return whether the version that is served has a status subresource."""
    versions = (each for each in definition["spec"]["versions"] if each.get("name") == _VERSION)
    return any("status" in (each.get("subresources") or {}) for each in versions)


def find_definition_problems(definition: Mapping[str, Any] | None, version: str) -> Iterator[str]:
    """Say what is wrong with a definition, and what to do; nothing where it is as needed."""
    if definition is None:
        yield f"it is not there; {_INSTALL}"
        return
    served = {
        each.get("name") for each in definition["spec"]["versions"] if each.get("served") is True
    }
    if version not in served:
        yield f"it does not serve {version}; {_INSTALL}"
    conditions = {
        each.get("type"): each.get("status")
        for each in (definition.get("status") or {}).get("conditions") or []
    }
    for kind, (good, trouble) in _CONDITIONS.items():
        if conditions.get(kind, "False") != good:
            yield f"{kind} is {conditions.get(kind, 'not set')}: {trouble}"
