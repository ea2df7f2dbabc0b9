"""What a HorizontalPodAutoscaler scales up: nobody wrong is named for the Pods that come.

The autoscaler of a real kube-controller-manager raises to `minReplicas` without any metrics
(kubernetes/pkg/controller/podautoscaler/horizontal.go, reconcileAutoscaler).
"""

from collections.abc import Iterable
from typing import Any

from tests.api.people.requester_notes.conftest import (
    ANN,
    NAMESPACE,
    OLD_NAMESPACE,
    Installation,
    human,
    of_pod,
    soon,
)
from tests.api.people.requester_notes.profiles import naming, profile
from tests.harness.programs.client import Client, Json
from tests.harness.worlds.rbac import grant, use_of, user

CLEO_OID = "22222222-aaaa-bbbb-cccc-dddddddddddd"


def scaler(name: str, namespace: str, replicas: int = 3) -> Json:
    """Return an autoscaler of a Deployment that wants more than one Pod."""
    metric = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": replicas,
            "maxReplicas": replicas,
            "metrics": [{"type": "Resource", "resource": metric}],
        },
    }


async def pods_of(installation: Installation, name: str, count: int) -> list[Json]:
    """Return the decisions on a Deployment's Pods, once there are so many."""

    def enough(_: Json) -> bool:
        return len(installation.decisions(of_pod(f"{name}-"))) >= count

    await installation.decision(enough)
    return installation.decisions(of_pod(f"{name}-"))


def names_of(decisions: Iterable[Json]) -> set[tuple[str, Any, str]]:
    """Return who asked for the Pods, who stands behind them, and how that is known."""
    return {(d["requesterKind"], d["root"].get("requester"), d["traced"]) for d in decisions}


async def test_a_year_old_deployment(
    installation: Installation, admin: Client, ben: Client
) -> None:
    """Its Pods stand on their service account's right; neither Ben nor the scaler is named."""
    await ben.create(scaler("plain", OLD_NAMESPACE))
    found = await pods_of(installation, "plain", 2)
    assert names_of(found) == {("controller", None, "unnoted")}
    assert {d["verdict"] for d in found} == {"allow"}
    assert {d["root"]["kind"] for d in found} == {"Deployment"}
    old = await admin.get("apps/v1", "Deployment", "plain", OLD_NAMESPACE)
    assert old["spec"]["replicas"] == 3
    assert not any(key.startswith("sallyport.dev/") for key in old["metadata"]["annotations"])


async def test_a_year_old_deployment_that_needs_more_than_its_account_may(
    installation: Installation, ben: Client
) -> None:
    """Refused, each Pod of it, whoever scales it: no right of a controller's counts."""
    await ben.create(scaler("strong", OLD_NAMESPACE))
    found = await pods_of(installation, "strong", 2)
    assert names_of(found) == {("controller", None, "unnoted")}
    assert {d["verdict"] for d in found} == {"deny"}
    assert {d["findings"][0]["privilege"] for d in found} == {"host/pid"}


async def test_a_year_old_deployment_where_notes_are_demanded(
    installation: Installation, admin: Client, ann: Client, ben: Client
) -> None:
    """Refused with the way out; after a change of the template the changer is named."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OLD_NAMESPACE}}
    label = {"metadata": {"labels": {"sallyport.dev/when-unnoted": "refuse"}}}
    await admin.patch(namespace, label)
    await ben.create(scaler("kept", OLD_NAMESPACE))
    try:
        refused = await installation.decision(
            lambda d: of_pod("kept-")(d) and d["verdict"] == "deny"
        )
        old = await admin.get("apps/v1", "Deployment", "kept", OLD_NAMESPACE)
        containers = [{"name": "main", "image": "registry.example/train:2"}]
        await ann.patch(old, {"spec": {"template": {"spec": {"containers": containers}}}})
        taken = await installation.decision(
            lambda d: of_pod("kept-")(d) and d["root"].get("requester") == ANN
        )
    finally:
        await admin.patch(namespace, {"metadata": {"labels": {"sallyport.dev/when-unnoted": None}}})
    assert [each["rule"] for each in refused["findings"]] == ["notes/unnoted"]
    assert (taken["verdict"], taken["traced"]) == ("allow", "noted")


async def test_a_deployment_whose_author_has_left(
    installation: Installation, admin: Client, ben: Client
) -> None:
    """Pods come on the service account's right, and name the author: who asked stays who asked."""
    cleo = human(admin, "cleo@example.com", CLEO_OID)
    rights = grant("noting-cleo", use_of("noting-cleo"), user("cleo@example.com"))
    await admin.apply((profile("noting-cleo"), *rights))
    made = await soon(lambda: cleo.create(naming("noting-cleo", "Deployment", "cleos")))
    await pods_of(installation, "cleos", 1)
    for item in rights:
        await admin.delete(item)
    await ben.create(scaler("cleos", NAMESPACE))
    found = await pods_of(installation, "cleos", 3)
    assert names_of(found) == {("controller", f"oid:{CLEO_OID}", "noted")}
    assert {(d["verdict"], d["root"]["profile"]) for d in found} == {("allow", "noting-cleo")}
    await admin.delete(made)


async def test_a_deployment_whose_noted_profile_is_gone(
    installation: Installation, admin: Client, ann: Client, ben: Client
) -> None:
    """Refused: the author must submit it again, under what there is now."""
    narrow = profile("noting-gone")
    rights = grant("noting-gone", use_of("noting-gone"), user("ann@example.com"))
    await admin.apply((narrow, *rights))
    made = await soon(lambda: ann.create(naming("noting-gone", "Deployment", "gone")))
    await pods_of(installation, "gone", 1)
    await admin.delete(narrow)
    await ben.create(scaler("gone", NAMESPACE))
    refused = await installation.decision(lambda d: of_pod("gone-")(d) and d["verdict"] == "deny")
    assert [each["rule"] for each in refused["findings"]] == ["notes/root"]
    assert refused["root"]["requester"] == ANN
    await admin.delete(made)
