"""What `sallyport status` takes for shipped is what the chart ships."""

from cli.shared.cluster_status.registrations import BACKSTOP, GUARDS, WEBHOOKS
from tests.harness.programs.client import Json
from tests.harness.programs.helm import Helm

EVERYWHERE = {"webhooks": {"whenReady": False}}
KINDS = {
    "validatingwebhookconfigurations": "ValidatingWebhookConfiguration",
    "mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
}


def of_kind(objects: list[Json], kind: str) -> dict[str, Json]:
    """Return the objects of a kind by name."""
    return {item["metadata"]["name"]: item for item in objects if item["kind"] == kind}


def test_every_webhook_that_no_value_takes_away_is_looked_for(helm: Helm) -> None:
    """And none that the chart does not have: it would be a problem for ever."""
    objects = helm.objects(EVERYWHERE)
    for plural, kind in KINDS.items():
        hooks = of_kind(objects, kind)["sallyport"]["webhooks"]
        assert {each["name"] for each in hooks} == WEBHOOKS[plural]


def test_every_guard_is_looked_for_with_its_failure_policy(helm: Helm) -> None:
    """The back-stop alone is one that a value switches off."""
    objects = helm.objects(EVERYWHERE)
    policies = of_kind(objects, "ValidatingAdmissionPolicy")
    shipped = {name: each["spec"]["failurePolicy"] for name, each in policies.items()}
    assert shipped == {**GUARDS, BACKSTOP: "Ignore"}
    bindings = of_kind(objects, "ValidatingAdmissionPolicyBinding")
    assert {name: each["spec"]["policyName"] for name, each in bindings.items()} == {
        name: name for name in shipped
    }
    off = of_kind(
        helm.objects({**EVERYWHERE, "backstop": {"enabled": False}}), "ValidatingAdmissionPolicy"
    )
    assert off.keys() == GUARDS.keys()
