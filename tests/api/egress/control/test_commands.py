"""`sallyport egress` on a real cluster: what it says is what the controller does."""

from pathlib import Path
from typing import Any

import yaml

from app.settings.root import Settings, read_settings
from cli.egress.explain import explain_connection
from cli.egress.graph import make_picture
from cli.egress.plan import make_plan
from cli.egress.render import render
from core.base import names
from core.egress.pod_labels import egress_labels
from kube.egress.network_policies import digest_of
from tests.api.egress.control.field import Field, allowlist
from tests.api.egress.control.pods import pod, running
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.harness.programs.egress_control import Controlled
from tests.harness.worlds import rbac


def _settings(apiserver: ApiServer) -> Settings:
    return read_settings(None, {"kubeconfig": apiserver.kubeconfig()})


def _write(folder: Path, *objects: dict[str, Any]) -> list[str]:
    file = folder / "intents.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    return [str(file)]


async def test_rendered_is_what_the_controller_writes(
    apiserver: ApiServer, controlled: Controlled, field: Field
) -> None:
    """To the letter, so that a pipeline can look at it before."""
    del controlled
    await field.allow("lab", {"cidr": "192.0.2.0/24"}, {"cidr": "2001:db8::/64"})
    live = await field.settle(lambda found: len(found) == 4)
    done = await render(_settings(apiserver), [], field.name)
    assert {each["metadata"]["name"]: digest_of(each) for each in done.objects} == {
        name: digest_of({**each, "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy"})
        for name, each in live.items()
    }
    assert done.problems == []


async def test_plan_asks_the_cluster_for_rights(
    apiserver: ApiServer, client: Client, field: Field, tmp_path: Path
) -> None:
    """What waits for a right opens once RBAC gives it; Pods that run are counted."""
    shared = f"shared-{field.name}"
    await client.create(
        {
            "apiVersion": names.API_VERSION,
            "kind": "EgressDestinations",
            "metadata": {"name": shared},
            "spec": {
                "to": [
                    {"cidr": "192.0.2.0/24", "ports": [{"protocol": "TCP", "port": 443}]},
                ],
                "owner": "platform",
                "reason": "a test",
            },
        }
    )
    files = _write(tmp_path, allowlist(field.name, "lab", {"destinations": {"name": shared}}))
    plan, left_out = await make_plan(_settings(apiserver), files, delete=False)
    (change,) = plan.changes
    assert not left_out
    assert "may not use" in change.waits
    rule = rbac.rule(["sallyport.dev"], "egressdestinations", "use")
    account = rbac.service_account("default", field.name)
    for each in rbac.grant(shared, rule, account, namespace=field.name):
        await client.create(each)
    made = pod(field.name, "train-0", **egress_labels("default", None))
    await running(client, made, "10.244.1.10")
    plan, left_out = await make_plan(_settings(apiserver), files, delete=False)
    (change,) = plan.changes
    assert not left_out
    assert (change.waits, change.to, change.pods) == ("", "192.0.2.0/24", 1)


async def test_explain_and_graph_read_a_cluster(
    apiserver: ApiServer, client: Client, field: Field
) -> None:
    """Pods, intents, Services with their slices, and what others may."""
    await field.allow("lab", {"cidr": "192.0.2.0/24"})
    made = pod(field.name, "train-0", **egress_labels("default", None))
    await running(client, made, "10.244.1.10")
    settings = _settings(apiserver)
    found, left_out = await explain_connection(settings, (field.name, "train-0"), "192.0.2.7:443")
    assert (found.verdict, found.by[0].allowlist, left_out) == ("open", "lab", False)
    closed, _ = await explain_connection(settings, (field.name, "train-0"), "192.0.2.7:80")
    assert (closed.verdict, closed.near[0].what) == ("closed", "lab spec.to[0]")
    picture, _ = await make_picture(settings, field.name)
    assert [each.text for each in picture.nodes if each.kind == "network"] == ["192.0.2.0/24"]
