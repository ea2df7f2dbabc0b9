"""`sallyport egress enrol` and `release`: step by step, and never past what would break."""

from pathlib import Path

import pytest

from app.settings.root import Settings, read_settings
from cli.egress.enrol import EnrolmentStep, EnrolQuestion, enrol, exit_code, release_namespace
from core.base import names
from core.base.errors import SettingsError
from core.egress.pod_labels import egress_labels
from tests.api.egress.control.field import FLOOR, Field
from tests.api.kube.objects import new_name
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json

pytestmark = pytest.mark.usefixtures("controlled")

ONE = "sallyport-allow-one-0"
WEB = "web-6d4cf56db6-abcde"


@pytest.fixture
async def used(client: Client) -> Field:
    """A namespace in use, which has no label; of its Deployment `web` a Pod runs."""
    made = Field(client, new_name("egress"))
    await client.create_namespace(made.name)
    await client.create_service_account("default", made.name)
    await client.create(_pod(made.name, WEB, egress_labels("default", ("Deployment", "web"))))
    return made


@pytest.fixture
def settings(apiserver: ApiServer) -> Settings:
    """Settings of somebody who may do everything."""
    ranges = {"ranges": {"pods": ["10.9.0.0/16"]}}
    return read_settings(None, {"kubeconfig": apiserver.kubeconfig(), "egress": ranges})


async def _marks(field: Field) -> tuple[str | None, str | None]:
    metadata = (await field.client.get("v1", "Namespace", field.name))["metadata"]
    label = (metadata.get("labels") or {}).get(names.EGRESS_LABEL)
    return label, (metadata.get("annotations") or {}).get(names.EGRESS_WORKLOADS_ANNOTATION)


def _flows(folder: Path, field: Field, *destinations: str) -> list[str]:
    """Write flows of the Deployment `web`, as a CSV."""
    file = folder / "flows.csv"
    rows = [f"{field.name},default,{WEB},{each},443,TCP" for each in destinations]
    head = "namespace,service_account,pod,destination,port,protocol"
    file.write_text("\n".join([head, *rows]) + "\n")
    return [str(file)]


async def _close(
    settings: Settings, field: Field, flows: list[str], *, force: bool = False, whole: bool = False
) -> EnrolmentStep:
    close = () if whole else ("Deployment/web",)
    asked = EnrolQuestion(namespace=field.name, flows=flows, close=close, whole=whole, force=force)
    return await enrol(settings, asked)


async def test_a_namespace_in_use_is_enrolled_and_released(
    used: Field, settings: Settings, tmp_path: Path
) -> None:
    """Audit, one workload, all of it, and back; each step says the next."""
    step = await enrol(settings, EnrolQuestion(namespace=used.name))
    assert (step.before, step.after, step.changed) == ("", "audit", True)
    assert "--close KIND/NAME" in step.next
    again = await enrol(settings, EnrolQuestion(namespace=used.name))
    assert (again.changed, exit_code(again)) == (False, 0)

    await used.allow("one", {"cidr": "192.0.2.0/24"})
    seen = _flows(tmp_path, used, "192.0.2.7")
    step = await _close(settings, used, seen)
    assert step.hindrances == []
    assert await _marks(used) == ("audit", "Deployment/web")
    await used.settle_names(ONE)

    step = await _close(settings, used, seen, whole=True)
    assert step.hindrances == []
    assert await _marks(used) == ("deny", None)
    await used.settle(lambda now: now["sallyport-default-deny"]["spec"]["podSelector"] == {})

    step = await release_namespace(settings, used.name, to_open=False)
    assert (step.before, step.after) == ("deny", "audit")
    await used.settle(lambda now: not now)
    await release_namespace(settings, used.name, to_open=True)
    assert await _marks(used) == ("open", None)


async def test_what_would_be_closed_keeps_the_step_back(
    used: Field, settings: Settings, tmp_path: Path
) -> None:
    """The destination is named, nothing is written, and the exit code says so; force goes on."""
    await enrol(settings, EnrolQuestion(namespace=used.name))
    await used.allow("one", {"cidr": "192.0.2.0/24"})
    seen = _flows(tmp_path, used, "192.0.2.7", "198.51.100.9")
    step = await _close(settings, used, seen)
    assert (step.changed, exit_code(step)) == (False, 1)
    (hindrance,) = step.hindrances
    assert hindrance.startswith("it would close 198.51.100.9")
    asked = EnrolQuestion(namespace=used.name, flows=seen, close=["Job/a,Deployment/web"])
    both = await enrol(settings, asked)
    assert both.hindrances == [
        "no Pod of Job/a runs with its label, and no flow of it was seen: is it right?",
        hindrance,
    ]
    assert await _marks(used) == ("audit", None)
    assert await used.policies() == {}
    forced = await _close(settings, used, seen, force=True)
    assert (forced.changed, exit_code(forced)) == (True, 0)
    assert (await used.settle_names(ONE)).keys() == FLOOR | {ONE}


async def test_nothing_is_closed_on_what_nobody_knows(used: Field, settings: Settings) -> None:
    """Without an audit, without flows, or with Pods that lack their labels."""
    step = await _close(settings, used, [], whole=True)
    assert [each.partition(":")[0] for each in step.hindrances] == [
        "the namespace is not audited yet",
        "nobody knows what it would close",
    ]
    assert await _marks(used) == (None, None)
    await enrol(settings, EnrolQuestion(namespace=used.name))
    await used.client.create(_pod(used.name, "old", {}))
    step = await _close(settings, used, [], whole=True)
    assert "Pod old lack the gate's labels" in step.hindrances[0]
    assert await _marks(used) == ("audit", None)


async def test_without_networks_of_pods_the_step_is_held_back(
    used: Field, apiserver: ApiServer, tmp_path: Path
) -> None:
    """Services would stay closed; what to set is said."""
    bare = read_settings(None, {"kubeconfig": apiserver.kubeconfig()})
    await enrol(bare, EnrolQuestion(namespace=used.name))
    await used.allow("one", {"cidr": "192.0.2.0/24"})
    step = await _close(bare, used, _flows(tmp_path, used, "192.0.2.7"))
    assert not step.changed
    assert "egress.ranges.pods is not set" in step.hindrances[0]


async def test_each_family_of_the_pods_needs_a_network(
    used: Field, settings: Settings, tmp_path: Path
) -> None:
    """On dual stack IPv4 alone leaves Services closed in IPv6."""
    await enrol(settings, EnrolQuestion(namespace=used.name))
    await used.allow("one", {"cidr": "192.0.2.0/24"})
    status = {"podIP": "10.9.0.7", "podIPs": [{"ip": "10.9.0.7"}, {"ip": "fd00:9::7"}]}
    path = f"/api/v1/namespaces/{used.name}/pods/{WEB}/status"
    await used.client.request(
        "PATCH", path, {"status": status}, content_type="application/merge-patch+json"
    )
    step = await _close(settings, used, _flows(tmp_path, used, "192.0.2.7"))
    assert not step.changed
    assert "egress.ranges.pods has no IPv6 network" in step.hindrances[0]


async def test_a_list_that_cannot_be_read_is_released(used: Field, settings: Settings) -> None:
    """Where nobody kept it from being stored, all Pods are closed: the way back must work."""
    item = await used.client.get("v1", "Namespace", used.name)
    broken = {names.EGRESS_WORKLOADS_ANNOTATION: "web"}
    labels = {names.EGRESS_LABEL: "audit"}
    await used.client.patch(item, {"metadata": {"annotations": broken, "labels": labels}})
    await used.settle_names()
    step = await release_namespace(settings, used.name, to_open=False)
    assert step.changed
    assert await _marks(used) == ("audit", None)
    await used.settle(lambda now: not now)


@pytest.mark.parametrize("close", ["web", "deployment/web", "Deployment/web,Job", "Job/a,"])
async def test_a_workload_that_is_none_is_refused(
    used: Field, settings: Settings, close: str
) -> None:
    """Before anything is written; so is a namespace that is not there."""
    with pytest.raises(SettingsError, match="write KIND/NAME"):
        await enrol(settings, EnrolQuestion(namespace=used.name, close=[close]))
    assert await _marks(used) == (None, None)
    with pytest.raises(SettingsError, match="there is no namespace"):
        await enrol(settings, EnrolQuestion(namespace="nowhere"))


def _pod(namespace: str, name: str, labels: dict[str, str]) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"containers": [{"name": "main", "image": "img"}]},
    }
