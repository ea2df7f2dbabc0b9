"""Whether kube-apiserver asks the gates: webhooks, guard policies and bindings, as they are."""

import asyncio
import base64
import binascii
import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any, Final

from certs.authority import read_certificates
from cli.shared.cluster_status.model import AreaFindings, RegistrationStatus, alert
from cli.shared.cluster_status.processes import ProcessesSeen
from cli.shared.cluster_status.questions import StatusQuestions
from core.base.errors import SallyportError
from core.base.times import DAY_S, time_text
from kube.resources.paths import ADMISSION_PATH

WEBHOOKS: Final[Mapping[str, frozenset[str]]] = {
    "validatingwebhookconfigurations": frozenset(
        {
            "validate.sallyport.dev",
            "namespaces.sallyport.dev",
            "objects.sallyport.dev",
            "rights.sallyport.dev",
            "connect.sallyport.dev",
            "credentials.sallyport.dev",
            "guards.sallyport.dev",
            "policies.sallyport.dev",
            "workloads.sallyport.dev",
        }
    ),
    "mutatingwebhookconfigurations": frozenset(
        {"mutate.sallyport.dev", "authors.sallyport.dev", "notes.sallyport.dev"}
    ),
}
"""What the chart ships in each configuration named `sallyport`, whatever its values."""

GUARDS: Final[Mapping[str, str]] = {
    "endpointslice-guard.sallyport.dev": "Fail",
    "kinds-guard.sallyport.dev": "Fail",
    "namespace-guard.sallyport.dev": "Fail",
    "own-namespace-guard.sallyport.dev": "Fail",
    "pod-address-guard.sallyport.dev": "Fail",
    "pod-annotation-guard.sallyport.dev": "Fail",
    "revision-guard.sallyport.dev": "Fail",
    "revision-owner-guard.sallyport.dev": "Fail",
    "status-guard.sallyport.dev": "Fail",
}
"""Policies that the chart always ships, each with a binding of its name, and the failurePolicy."""

BACKSTOP: Final = "backstop.sallyport.dev"
"""The one that a value switches off."""

_JUDGING: Final = "validate.sallyport.dev"
_NAME: Final = "sallyport"
READ_LOG: Final = (
    "kubectl logs -l app.kubernetes.io/component=control --tail=-1 --prefix | grep registration"
)
"""Of all replicas: only the one that leads says it."""

_PUT_BACK: Final = (
    "with webhooks.enabled=false this is as it should be; else control puts it back within a "
    f"minute, while kube-apiserver reaches a gate; if not: {READ_LOG}"
)
_SOON_S: Final = 14 * DAY_S
_DIFFERS: Final = alert("SallyportRegistrationDiffers")


async def read_registrations(
    questions: StatusQuestions, found: AreaFindings, now: dt.datetime
) -> tuple[list[RegistrationStatus], list[str]]:
    """Read all of them; return also the names of namespaces that are left out.

    Raises:
        ClusterError: kube-apiserver does not answer in time, or refuses.
    """
    kinds, policies = list(WEBHOOKS), [*GUARDS, BACKSTOP]
    bodies = await asyncio.gather(
        *(questions.get(f"{ADMISSION_PATH}/{kind}/{_NAME}") for kind in kinds),
        *(
            questions.get(f"{ADMISSION_PATH}/validatingadmissionpolicies/{name}")
            for name in policies
        ),
        *(
            questions.get(f"{ADMISSION_PATH}/validatingadmissionpolicybindings/{name}")
            for name in policies
        ),
    )
    webhooks = dict(zip(kinds, bodies, strict=False))
    rest = bodies[len(kinds) :]
    guards = dict(zip(policies, zip(rest, rest[len(policies) :], strict=False), strict=False))
    shown = [_webhook(kind, body, found, now) for kind, body in webhooks.items()]
    shown += [_guard(name, *both, found) for name, both in guards.items()]
    ours = [each for each in shown if each.kind in WEBHOOKS]
    found.says.append(
        f"{sum(each.registered for each in ours)} of {len(ours)} webhook configurations, "
        f"{sum(each.registered for each in shown) - sum(each.registered for each in ours)} of "
        f"{len(policies)} guard policies are registered"
    )
    left_out = _left_out(webhooks["validatingwebhookconfigurations"])
    if left_out:
        found.says.append(f"left out: {', '.join(left_out)}")
    return shown, left_out


def judge_comparison(seen: ProcessesSeen, found: AreaFindings) -> None:
    """Add what the leading control finds: it compares every field, and asks through the probe."""
    leading = [each for each in seen.of("control").values() if each.value("sallyport_leader") == 1]
    if not leading:
        found.gap("no leading control could be asked whether all is as the chart says it")
    for metrics in leading:
        if metrics.value("sallyport_gate_reached") == 0:
            found.problem(
                "kube-apiserver does not reach a gate: what it asks is refused, or not judged yet",
                f"{READ_LOG} says why",
                alert("SallyportGateNotReached"),
                critical=True,
            )
        compared = metrics.all("sallyport_registration_healthy")
        if not compared:
            found.gap(
                "control does not know what is to be registered: its ConfigMap is missing, or of "
                "another release"
            )
        differ = [labels["name"] for labels, healthy in compared if healthy == 0]
        if differ:
            what = f"not as the chart says it: {', '.join(sorted(differ))}"
            found.problem(what, _PUT_BACK, _DIFFERS, critical=True)


def _webhook(
    kind: str, body: Mapping[str, Any] | None, found: AreaFindings, now: dt.datetime
) -> RegistrationStatus:
    critical = kind == "validatingwebhookconfigurations"
    if body is None:
        effect = "nothing is judged, everything is admitted" if critical else "nobody is noted"
        found.problem(
            f"{kind} sallyport is not there: {effect}", _PUT_BACK, _DIFFERS, critical=critical
        )
        return _not_there(kind, _NAME)
    hooks = {each["name"]: each for each in body.get("webhooks") or []}
    missing = sorted(WEBHOOKS[kind] - hooks.keys())
    if missing:
        what = f"{kind} sallyport lacks {', '.join(missing)}: what they guard is not judged"
        found.problem(what, _PUT_BACK, _DIFFERS, critical=critical)
    for hook in hooks.values():
        _judge_hook(kind, hook, found)
    ends = [end for hook in hooks.values() for end in _ca_ends(hook)]
    _judge_ca(kind, hooks, ends, found, now)
    return RegistrationStatus(
        kind=kind,
        name=_NAME,
        registered=True,
        failure_policies=sorted({str(each.get("failurePolicy", "")) for each in hooks.values()}),
        ca_ends=time_text(max(ends).timestamp()) if ends else "",
        missing=missing,
    )


def _not_there(kind: str, name: str) -> RegistrationStatus:
    return RegistrationStatus(
        kind=kind, name=name, registered=False, failure_policies=[], ca_ends="", missing=[]
    )


def _judge_hook(kind: str, hook: Mapping[str, Any], found: AreaFindings) -> None:
    name = hook["name"]
    if kind == "validatingwebhookconfigurations" and hook.get("failurePolicy") != "Fail":
        found.problem(
            f"{name}: failurePolicy is {hook.get('failurePolicy')}: while no gate is reached, what "
            "it guards is admitted unjudged",
            "set webhooks.validating.failurePolicy=Fail and run helm upgrade",
            "docs/operate/disaster.md#4-repair-and-switch-on-again",
            critical=True,
        )
    if not hook.get("rules"):
        what = f"{name} has no rules: kube-apiserver asks it nothing"
        found.problem(what, _PUT_BACK, _DIFFERS, critical=True)


def _judge_ca(
    kind: str,
    hooks: Mapping[str, Mapping[str, Any]],
    ends: list[dt.datetime],
    found: AreaFindings,
    now: dt.datetime,
) -> None:
    critical = kind == "validatingwebhookconfigurations"
    see = alert("SallyportCertificateTrouble")
    without = sorted(name for name, hook in hooks.items() if not _ca_pem(hook))
    if without:
        found.problem(
            f"{kind}: {', '.join(without)} have no CA: kube-apiserver trusts no gate for them",
            "control puts it there within half a minute: kubectl logs deployment/sallyport-control",
            see,
            critical=critical,
        )
    broken = sorted(name for name, hook in hooks.items() if _ca_pem(hook) and not _ca_ends(hook))
    if broken:
        found.problem(
            f"{kind}: the CA of {', '.join(broken)} is no certificate",
            "sallyport certs status says what each webhook trusts",
            see,
            critical=critical,
        )
    if ends and (left := (max(ends) - now).total_seconds()) < _SOON_S:
        when = time_text(max(ends).timestamp())
        word = "has ended" if left <= 0 else "ends"
        found.problem(
            f"{kind}: the last CA that kube-apiserver trusts {word} {when}",
            "sallyport certs status",
            alert("SallyportCertificateEnds"),
            critical=left <= DAY_S,
        )


def _ca_pem(hook: Mapping[str, Any]) -> str:
    return str((hook.get("clientConfig") or {}).get("caBundle") or "")


def _ca_ends(hook: Mapping[str, Any]) -> list[dt.datetime]:
    try:
        pem = base64.b64decode(_ca_pem(hook), validate=True)
        return [each.not_valid_after_utc for each in read_certificates(pem)]
    except (binascii.Error, ValueError, SallyportError):
        return []


def _guard(
    name: str,
    policy: Mapping[str, Any] | None,
    binding: Mapping[str, Any] | None,
    found: AreaFindings,
) -> RegistrationStatus:
    kind = "validatingadmissionpolicies"
    if policy is None or binding is None:
        _judge_absent(name, policy is None, binding is None, found)
        return _not_there(kind, name)
    for fault in _guard_faults(name, policy["spec"], binding["spec"]):
        found.problem(
            f"ValidatingAdmissionPolicy {name}: {fault}",
            _PUT_BACK,
            _DIFFERS,
            critical=True,
        )
    return RegistrationStatus(
        kind=kind,
        name=name,
        registered=True,
        failure_policies=[str(policy["spec"].get("failurePolicy", ""))],
        ca_ends="",
        missing=[],
    )


def _judge_absent(name: str, policy: bool, binding: bool, found: AreaFindings) -> None:  # noqa: FBT001 (which of two)
    if name == BACKSTOP and policy and binding:
        found.says.append("the back-stop is off (backstop.enabled)")
        return
    lacks = "policy and its binding" if policy and binding else "policy" if policy else "binding"
    found.problem(
        f"{name}: the {lacks} is not there: what it guards is open to everyone with the right",
        _PUT_BACK,
        _DIFFERS,
        critical=True,
    )


def _guard_faults(
    name: str, policy: Mapping[str, Any], binding: Mapping[str, Any]
) -> Iterator[str]:
    shipped = GUARDS.get(name, "Ignore")
    if policy.get("failurePolicy") != shipped:
        yield f"failurePolicy is {policy.get('failurePolicy')}, and {shipped} as shipped"
    if not policy.get("validations"):
        yield "it has no validations, so it refuses nothing"
    if binding.get("policyName") != name:
        yield f"its binding is for {binding.get('policyName')}"
    if "Deny" not in (binding.get("validationActions") or []):
        yield "its binding does not deny"


def _left_out(body: Mapping[str, Any] | None) -> list[str]:
    """Return the names of namespaces that `validate.sallyport.dev` is not asked about."""
    names: set[str] = set()
    for hook in (body or {}).get("webhooks") or []:
        if hook["name"] == _JUDGING:
            selector = hook.get("namespaceSelector") or {}
            for each in selector.get("matchExpressions") or []:
                if each.get("operator") == "NotIn":
                    names |= set(each.get("values") or [])
    return sorted(names)
