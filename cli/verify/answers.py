"""What kube-apiserver's answers to `sallyport verify` mean, in a person's words."""

import enum
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec

from core.base import names
from core.decision.namespaces import Mode

_NOT_REACHED: Final = re.compile(r"failed calling webhook \"[^\"]*sallyport\.dev\"")
_DENIED: Final = re.compile(r"admission webhook \"[^\"]*sallyport\.dev\" denied the request")
_BACK_STOP: Final = re.compile(r"ValidatingAdmissionPolicy '[^']*sallyport\.dev'")
_TIMEOUT_OF_CALL: Final = re.compile(r"[?&]timeout=\w+")
"""In the URL that kube-apiserver repeats, whatever went wrong."""
_CUT_OFF: Final = (
    "kube-apiserver does not reach the gate: look at networkPolicies.webhooksFrom, and at "
    "firewalls between kube-apiserver and port 9443 of the Pods"
)
_REASONS: Final = (
    (
        re.compile(
            "certificate required|remote error: tls: (bad|expired|unknown|revoked)|"
            "remote error: tls: .*certificate"
        ),
        "kube-apiserver shows no certificate that the gate trusts: let it show one "
        "(docs/operate/certificates.md#who-may-ask-the-gate), or unset gate.clientCaConfigMap",
    ),
    (
        re.compile("client_names|clientnames"),
        "kube-apiserver's certificate has no name that may ask the gate: add its common name or an "
        "alternative name to gate.clientNames "
        "(docs/operate/certificates.md#who-may-ask-the-gate)",
    ),
    (
        re.compile("x509"),
        "kube-apiserver does not trust the gate's certificate: control puts the CA into the "
        "registrations; `sallyport certs status` says where it stands",
    ),
    (
        re.compile("no endpoints available"),
        "no gate is ready: look at the Pods of sallyport-gate",
    ),
    (re.compile("connection refused"), "no gate listens: look at the Pods of sallyport-gate"),
    (
        re.compile(
            "deadline exceeded|gateway time-?out|no agent available|i/o timeout|client\\.timeout|"
            "no route to host|network is unreachable|connection timed out"
        ),
        _CUT_OFF,
    ),
    (
        re.compile("\\beof\\b|connection reset|broken pipe"),
        "the connection ended before the gate answered: look at networkPolicies.webhooksFrom, "
        "above all where kube-apiserver calls through a tunnel (AKS), and whether the Pods of "
        "sallyport-gate start again and again",
    ),
    (
        re.compile("not found|no such host"),
        "the Service sallyport-gate is missing: install the chart whole",
    ),
    (
        re.compile("timeout|timed out"),
        "kube-apiserver does not reach the gate, or it is too slow: look at "
        "networkPolicies.webhooksFrom, and at the gate's /metrics",
    ),
    (re.compile("503"), "the gate is not ready: its /readyz says what it misses"),
)
"""Signs in kube-apiserver's text, in lower case; the first that is found counts."""
_NOT_JUDGED: Final = (
    "every request of this kind is refused until that is mended: what is above says what lacks, "
    "and so do the gate's /readyz and its log"
)
_NO_RIGHT: Final = "give whoever asks the right to create Deployments and Pods in the namespace"


class StepOutcome(enum.StrEnum):
    """How a promise stands."""

    HOLDS = "holds"
    BROKEN = "broken"
    UNKNOWN = "unknown"


class Step(msgspec.Struct, frozen=True, rename="camel"):
    """One promise that was tried."""

    name: str
    standing: StepOutcome
    found: str
    remedy: str
    """Empty where there is nothing to do."""


def judged_workload(status: int, answer: Mapping[str, Any]) -> Step:
    """Read the answer to a Deployment that needs nothing: both webhooks are asked of it."""
    name = "judged"
    text = str(answer.get("message", ""))
    if status == 0:
        if names.REQUESTER_ANNOTATION in answer["metadata"].get("annotations", {}):
            return Step(
                name, StepOutcome.HOLDS, "a workload was judged, and who asks was noted", ""
            )
        return Step(
            name,
            StepOutcome.BROKEN,
            "a workload was admitted, and nobody noted who asks: the gate was not asked",
            "name a namespace that is not left out (webhooks.excludedNamespaces), and see that "
            "the webhooks are registered",
        )
    if _is_denied(status, text):
        return Step(name, StepOutcome.HOLDS, "a workload was judged, and refused", "")
    return _other(name, status, text)


def refused_pod(status: int, answer: Mapping[str, Any], mode: Mode) -> Step:
    """Read the answer to a Pod that nobody may run."""
    name = "refused"
    text = str(answer.get("message", ""))
    if status == 0 and mode is not Mode.ENFORCE:
        found = f"a Pod that nobody may run was admitted: in mode {mode.value} nothing is refused"
        return Step(name, StepOutcome.HOLDS, found, "")
    if status == 0:
        return Step(
            name,
            StepOutcome.BROKEN,
            "a Pod that nobody may run was admitted",
            "look at the steps above; where they hold, is a BreakGlass open, or the namespace "
            "left out?",
        )
    if _is_denied(status, text):
        return Step(name, StepOutcome.HOLDS, "a Pod that nobody may run was refused", "")
    if _BACK_STOP.search(text):
        found = "a Pod that nobody may run was refused by the back-stop, before the gate was asked"
        return Step(name, StepOutcome.HOLDS, found, "")
    return _other(name, status, text)


def refused_marks(status: int, answer: Mapping[str, Any], *, may_exempt: bool) -> Step:
    """Read the answer to a change of a namespace's marks."""
    name = "guarded"
    text = str(answer.get("message", ""))
    if status == 0 and may_exempt:
        found = "you may change the marks of the namespace, so the guard was not tried on you"
        return Step(name, StepOutcome.HOLDS, found, "")
    if status == 0:
        return Step(
            name,
            StepOutcome.BROKEN,
            "whoever has no right to it changed the marks of the namespace",
            "install the chart whole: namespace-guard.sallyport.dev is missing",
        )
    if _BACK_STOP.search(text) or _is_denied(status, text):
        return Step(name, StepOutcome.HOLDS, "changing the marks of the namespace was refused", "")
    return _other(name, status, text)


def _is_denied(status: int, text: str) -> bool:
    """Return whether the gate judged, and said no.

    kube-apiserver says "denied the request" of an error of the gate's too: with another status
    (k8s.io/apiserver pkg/admission/plugin/webhook/errors, ToStatusErr).
    """
    return status == HTTPStatus.FORBIDDEN and _DENIED.search(text) is not None


def _other(name: str, status: int, text: str) -> Step:
    """Read a failure that is no denial of Sallyport's."""
    if _DENIED.search(text):
        return Step(name, StepOutcome.BROKEN, f"the gate could not judge: {text}", _NOT_JUDGED)
    if _NOT_REACHED.search(text):
        said = _TIMEOUT_OF_CALL.sub("", text).lower()
        remedy = next(
            (what for sign, what in _REASONS if sign.search(said)), "the gate's log may say more"
        )
        return Step(name, StepOutcome.BROKEN, f"the gate was not reached: {text}", remedy)
    if status == HTTPStatus.FORBIDDEN and "cannot" in text:
        return Step(name, StepOutcome.UNKNOWN, text, _NO_RIGHT)
    if status == HTTPStatus.FORBIDDEN:
        remedy = "name a namespace where only Sallyport refuses"
        return Step(name, StepOutcome.UNKNOWN, f"somebody else refused it: {text}", remedy)
    return Step(name, StepOutcome.UNKNOWN, text, "")
