"""Whether kube-apiserver asks the gates, and is told to as the chart says it."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from cli.verify.answers import Step, StepOutcome
from control.registrations.comparison import ca_of, differences
from control.registrations.registration import (
    CONFIGMAP,
    PROBE_PATH,
    Registration,
    read_registrations,
)
from core.base.errors import ClusterError, InvalidObjectError
from kube.client.objects import Objects
from kube.resources.paths import ADMISSION_PATH

NAME: Final = "registered"

_KINDS: Final = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
_UNASKED: Final = (
    "control registers them once kube-apiserver reaches a gate; its log says why it does not "
    "(`registration`, of=gate)"
)
_PUT_BACK: Final = (
    "control puts it back within a minute, while kube-apiserver reaches a gate; if not, its log "
    "says why (`registration`)"
)


async def check_registered(objects: Objects, namespace: str) -> Step:
    """Check the webhooks, and compare them and the policies with what the chart says."""
    try:
        for kind in _KINDS:
            found = await objects.get(f"{ADMISSION_PATH}/{kind}/sallyport")
            if trouble := _trouble(kind, found):
                return Step(NAME, StepOutcome.BROKEN, *trouble)
    except ClusterError as error:
        return Step(NAME, StepOutcome.UNKNOWN, str(error), "")
    holds = "the webhooks are registered, fail closed, with a CA"
    try:
        wanted = await _wanted(objects, namespace)
        differs = await _difference(objects, wanted)
    except (ClusterError, InvalidObjectError) as error:
        unread = f"{holds}; whether they are as the chart says it was not compared: {error}"
        return Step(NAME, StepOutcome.HOLDS, unread, "")
    if differs:
        return Step(NAME, StepOutcome.BROKEN, differs, _PUT_BACK)
    return Step(NAME, StepOutcome.HOLDS, f"{holds}, and with the policies as the chart says", "")


def _trouble(kind: str, configuration: Mapping[str, Any] | None) -> tuple[str, str] | None:
    """Return the fault of a webhook configuration, and the remedy."""
    if configuration is None:
        return f"there is no {kind} sallyport", "set webhooks.enabled=true"
    webhooks = configuration.get("webhooks")
    if not webhooks:
        return f"{kind} sallyport has no webhooks", _UNASKED
    for webhook in webhooks:
        name = webhook["name"]
        if not webhook["clientConfig"].get("caBundle"):
            return (
                f"{name}: kube-apiserver was not given the gate's CA",
                "control puts it there within half a minute; if not, its log says why",
            )
        if kind == _KINDS[0] and webhook["failurePolicy"] != "Fail":
            return (
                f"{name}: failurePolicy is {webhook['failurePolicy']}: while the gate is not "
                "reached, everything is admitted unjudged",
                "set webhooks.validating.failurePolicy=Fail",
            )
    return None


async def _wanted(objects: Objects, namespace: str) -> tuple[Registration, ...]:
    """Return what the chart says, of whichever release it is."""
    found = await objects.get(f"/api/v1/namespaces/{namespace}/configmaps/{CONFIGMAP}")
    if found is None:
        raise ClusterError(f"there is no ConfigMap {namespace}/{CONFIGMAP}", HTTPStatus.NOT_FOUND)
    return read_registrations(found) or ()


async def _difference(objects: Objects, wanted: tuple[Registration, ...]) -> str:
    """Return the first difference, for a person; empty where there is none."""
    ca = ca_of(await objects.get(PROBE_PATH))
    for each in wanted:
        fields = differences(each.wanted, await objects.get(each.path), ca)
        for name, field in fields.items():
            return f"{each.kind} {name} is not as the chart says it ({field})"
    return ""
