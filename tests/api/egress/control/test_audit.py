"""An audited namespace: nothing of it is closed, but the workloads that its annotation lists."""

import pytest

from core.base import names
from tests.api.egress.control.field import FLOOR, Field
from tests.api.kube.objects import new_name
from tests.harness.programs.client import Client, Json

pytestmark = pytest.mark.usefixtures("controlled")

ONE = "sallyport-allow-one-0"
WEB = {"key": names.EGRESS_WORKLOAD_LABEL, "operator": "In", "values": ["Deployment.web"]}


@pytest.fixture
async def audited(client: Client) -> Field:
    """An audited namespace of this test's own."""
    made = Field(client, new_name("egress"))
    await made.prepare("audit")
    return made


def _is_of_web(policy: Json) -> bool:
    return WEB in policy["spec"]["podSelector"].get("matchExpressions", ())


async def _mark(field: Field, metadata: Json) -> None:
    item = await field.client.get("v1", "Namespace", field.name)
    await field.client.patch(item, {"metadata": metadata})


async def test_nothing_is_closed_and_the_allowlist_says_so(audited: Field) -> None:
    """Its condition names the label; there is no policy."""
    await audited.allow("one", {"cidr": "192.0.2.0/24"})
    said = await audited.settle_reason("one", "NotEnrolled")
    assert "the namespace is audited" in said["message"]
    assert await audited.policies() == {}


async def test_workloads_are_closed_one_by_one_and_then_all(audited: Field) -> None:
    """No policy is about Pods of others until the namespace is closed; and the way back."""
    await audited.allow("one", {"cidr": "192.0.2.0/24"})
    listed = {names.EGRESS_WORKLOADS_ANNOTATION: "Deployment/web"}
    await _mark(audited, {"annotations": listed})
    found = await audited.settle_names(ONE)
    for policy in found.values():
        assert _is_of_web(policy), policy["metadata"]["name"]
    await audited.settle_reason("one", "Open")
    await _mark(
        audited,
        {
            "labels": {names.EGRESS_LABEL: "deny"},
            "annotations": {names.EGRESS_WORKLOADS_ANNOTATION: None},
        },
    )
    found = await audited.settle(lambda now: not any(map(_is_of_web, now.values())))
    assert found["sallyport-default-deny"]["spec"]["podSelector"] == {}
    assert found.keys() == FLOOR | {ONE}
    await _mark(audited, {"labels": {names.EGRESS_LABEL: "audit"}})
    await audited.settle(lambda now: not now)
    await audited.settle_reason("one", "NotEnrolled")
