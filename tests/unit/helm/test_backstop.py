"""The back-stop in the chart: it leaves out what webhooks leave out, and can be switched off."""

from tests.harness.programs.client import Json
from tests.harness.programs.helm import Helm, named

NAME = "backstop.sallyport.dev"
POLICY = "ValidatingAdmissionPolicy"


def excluded(item: Json) -> list[str]:
    """Return the namespaces that a selector leaves out."""
    (only,) = item["matchExpressions"]
    assert only["operator"] == "NotIn"
    return list(only["values"])


def test_backstop_leaves_out_what_the_webhooks_leave_out(helm: Helm) -> None:
    """Else it would refuse Pods that nobody else judges."""
    objects = helm.objects({"webhooks": {"excludedNamespaces": ["calico-system"]}})
    policy = named(objects, POLICY, NAME)
    webhooks = named(objects, "ValidatingWebhookConfiguration", "sallyport")["webhooks"]
    pods = next(each for each in webhooks if each["name"] == "validate.sallyport.dev")
    found = excluded(policy["spec"]["matchConstraints"]["namespaceSelector"])
    assert found == excluded(pods["namespaceSelector"])
    assert "calico-system" in found


def test_backstop_reads_the_config_map_that_control_writes(helm: Helm) -> None:
    """The ConfigMap of the release's own namespace, which the role of control names."""
    objects = helm.objects({})
    reference = named(objects, f"{POLICY}Binding", NAME)["spec"]["paramRef"]
    role = named(objects, "Role", "sallyport-control")
    assert reference["namespace"] == role["metadata"]["namespace"]
    (rule,) = [r for r in role["rules"] if r.get("resourceNames") == [reference["name"]]]
    assert rule["verbs"] == ["get", "patch"]


def test_backstop_can_be_switched_off(helm: Helm) -> None:
    """Policy and binding both; it is in force unless somebody says otherwise."""
    for values, kinds in (
        ({}, {POLICY, f"{POLICY}Binding"}),
        ({"backstop": {"enabled": False}}, set()),
    ):
        found = {item["kind"] for item in helm.objects(values) if item["metadata"]["name"] == NAME}
        assert found == kinds
