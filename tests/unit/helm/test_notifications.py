"""The chart's values of notifications: what the auditor is told, mounts and reaches."""

from pathlib import Path

from app.notifications.sinks import delivery_options, route_of
from audit.notifications.notice import NoticeEvent
from core.weights.documents.events import Severity
from tests.harness.programs.helm import Helm, Values, pod_templates
from tests.unit.helm.switches import GUID, SWITCHES
from tests.unit.helm.test_networks import policy, ports
from tests.unit.helm.test_settings_files import settings_of


def test_sinks_arrive_as_the_values_say(helm: Helm, tmp_path: Path) -> None:
    """At the auditor alone; what is not given has its default."""
    objects = helm.objects(SWITCHES["sinks"])
    settings = settings_of(objects, "auditor", tmp_path)
    pager, *_, archive = settings.notifications.sinks
    assert delivery_options(settings).give_up_s == 24 * 3600
    assert (pager.name, pager.kind, pager.url) == (
        "pager",
        "webhook",
        "https://pager.example:8443/hook",
    )
    route = route_of(pager)
    assert (route.at_least, route.since) == (Severity.HIGH, "2026-11-01T00:00:00.000Z")
    assert route.stores == {"frontier"}
    assert route.events == {NoticeEvent.FINDING}
    assert route_of(archive).events == {NoticeEvent.FINDING, NoticeEvent.GAP}
    sinks = {sink.name: sink for sink in settings.notifications.sinks}
    assert sinks["siem"].server == "siem.example:6514"
    assert (sinks["mail"].tls, sinks["mail"].sender) == ("implicit", "sallyport@example.com")
    assert sinks["mail"].recipients == ["on-call@example.com"]
    assert (sinks["hub"].servers, sinks["hub"].sign_in) == (
        ["site.servicebus.windows.net:9093"],
        "entra",
    )
    assert sinks["kafka"].secrets == Path("/etc/sallyport/notifications/kafka")
    assert sinks["sentinel"].stream == "Custom-Sallyport_CL"
    assert settings.identity.client_id == GUID
    for component in ("gate", "control"):
        assert not settings_of(objects, component, tmp_path).notifications.sinks


def test_secrets_of_sinks_are_mounted_whole(helm: Helm) -> None:
    """Not by subPath: a Secret that is renewed must reach the process. Nobody else has them."""
    objects = helm.objects(SWITCHES["sinks"])
    templates = pod_templates(objects)
    (container,) = templates["sallyport-auditor"]["spec"]["containers"]
    mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
    assert mounts["sink-pager"] == {
        "name": "sink-pager",
        "mountPath": "/etc/sallyport/notifications/pager",
        "readOnly": True,
    }
    for component in ("gate", "control"):
        volumes = templates[f"sallyport-{component}"]["spec"]["volumes"]
        assert not any(volume["name"].startswith("sink-") for volume in volumes)


def test_auditor_reaches_its_sinks_and_no_more(helm: Helm) -> None:
    """On their ports, at the named networks."""
    assert ports(policy(helm.objects({}), "auditor")["egress"]) == {443, 6443, 53}
    values: Values = {**SWITCHES["sinks"], "networkPolicies": {"notifications": ["10.7.0.0/24"]}}
    rules = policy(helm.objects(values), "auditor")["egress"]
    (rule,) = [each for each in rules if 8443 in ports([each])]
    assert ports([rule]) == {443, 465, 6514, 8443, 9093, 9094}
    assert rule["to"] == [{"ipBlock": {"cidr": "10.7.0.0/24"}}]


def test_auditor_reaches_ports_of_sinks_that_no_value_shows(helm: Helm) -> None:
    """Of Kafka's other brokers, and of an address that a Secret has; beside the sinks' own."""
    values: Values = {**SWITCHES["sinks"], "networkPolicies": {"notificationPorts": [9192, 8444]}}
    rules = policy(helm.objects(values), "auditor")["egress"]
    (rule,) = [each for each in rules if 9192 in ports([each])]
    assert ports([rule]) == {443, 465, 6514, 8443, 8444, 9093, 9094, 9192}
    assert "to" not in rule
    without = helm.objects({"networkPolicies": {"notificationPorts": [9192]}})
    assert 9192 not in ports(policy(without, "auditor")["egress"])
