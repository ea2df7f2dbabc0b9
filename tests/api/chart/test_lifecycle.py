"""Installed, upgraded and refused by the real Helm on a real kube-apiserver."""

import pytest

from tests.api.chart.conftest import ELSEWHERE
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json
from tests.harness.programs.helm import CRDS, NAMESPACE, Helm, HelmFailedError

REGISTRATIONS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
ROOT = "/apis/admissionregistration.k8s.io/v1"
CA = "LS0tLS1CRUdJTg=="


async def registrations(client: Client) -> list[Json]:
    """Read both webhook configurations."""
    found = [await client.request("GET", f"{ROOT}/{kind}/sallyport") for kind in REGISTRATIONS]
    assert [status for status, _ in found] == [200, 200]
    return [item for _, item in found]


def bundles(items: list[Json]) -> set[str | None]:
    """Return the CA bundles of all webhooks."""
    return {hook["clientConfig"].get("caBundle") for item in items for hook in item["webhooks"]}


@pytest.mark.parametrize("server_side", ["true", "false"], ids=["Helm 4", "Helm 3"])
async def test_an_upgrade_leaves_the_ca_that_control_put_there(
    admin: Client, apiserver: ApiServer, helm: Helm, server_side: str
) -> None:
    """If it did not, every Pod would be refused until control looks again.

    By server-side apply, as Helm 4 does, and by a merge of three sides, as Helm 3 does.
    """
    config = apiserver.kubeconfig()
    helm.install(config, {}, "--force-conflicts=false", f"--server-side={server_side}")
    token = await admin.create_token("sallyport-control", NAMESPACE)
    control = admin.with_token(token)
    for kind, item in zip(REGISTRATIONS, await registrations(control), strict=True):
        for webhook in item["webhooks"]:
            webhook["clientConfig"]["caBundle"] = CA
        body = {"webhooks": item["webhooks"]}
        status, _ = await control.request(
            "PATCH",
            f"{ROOT}/{kind}/sallyport",
            body,
            parameters={"fieldManager": "sallyport-control"},
            content_type="application/merge-patch+json",
        )
        assert status == 200
    seconds = 7 if server_side == "true" else 8
    timeouts = {"validating": {"timeoutSeconds": seconds}, "mutating": {"timeoutSeconds": seconds}}
    values = {"webhooks": {"excludedNamespaces": ["calico-system"], **timeouts}}
    helm.install(config, values, f"--server-side={server_side}")
    after = await registrations(admin)
    assert bundles(after) == {CA}
    assert {hook["timeoutSeconds"] for item in after for hook in item["webhooks"]} == {seconds}


async def test_an_upgrade_closes_no_services_of_enrolled_namespaces(
    admin: Client, apiserver: ApiServer, helm: Helm
) -> None:
    """Without the networks of Pods it would; so it is refused, and names one of them."""
    config, dry = apiserver.kubeconfig(), "--dry-run=server"
    # Nobody answers the webhooks here.
    helm.install(config, {"webhooks": {"enabled": False}})
    await admin.create_namespace(ELSEWHERE, {"sallyport.dev/egress": "deny"})
    why = rf"egress\.ranges\.pods: namespace {ELSEWHERE} is enrolled"
    with pytest.raises(HelmFailedError, match=why):
        helm.install(config, {}, dry)
    helm.install(config, {"egress": {"ranges": {"pods": ["10.244.0.0/16"]}}}, dry)
    helm.install(config, {"egress": {"engine": "cilium"}}, dry)
    await admin.create_namespace(ELSEWHERE, {"sallyport.dev/egress": "audit"})
    helm.install(config, {})


def test_the_notes_say_what_to_check_next(installed: str) -> None:
    """What an operator reads after the installation."""
    for line in (
        "rollout status deployment/sallyport-gate",
        "component=control --tail=-1 --prefix | grep registration",
        "are ENFORCED",
        "sallyport decisions",
        "name the cluster's own networks (egress.ranges.pods",
    ):
        assert line in installed
    assert "<no value>" not in installed


def test_the_notes_warn_of_a_ledger_that_can_be_written_anew(
    admin: Client, apiserver: ApiServer, helm: Helm
) -> None:
    """As long as nothing anchors it; and say what is not read, and that Pods are evicted."""
    anchored = {"anchors": {"file": {"claim": "append-only"}}}
    read = {"clusterId": "prod", "weights": {"folder": {"claim": "logs"}}}
    dry = ("--dry-run=server",)
    config = apiserver.kubeconfig()
    bare = helm.install(config, {"weights": {"grants": {"whenEnded": "evict"}}}, *dry)
    assert "WARNING: no anchor (auditor.ledger.anchors)" in bare
    assert "Nobody reads the logs of the storage of model weights" in bare
    assert "Pods are evicted when the AccessGrant ends" in bare
    whole = helm.install(config, {**read, "auditor": {"ledger": anchored}}, *dry)
    for word in ("no anchor", "Nobody reads", "evicted"):
        assert word not in whole.partition("\nNOTES:")[2]
    assert "Sallyport" in whole.partition("\nNOTES:")[2]


def test_leaving_every_namespace_out_is_refused(
    helm: Helm, apiserver: ApiServer, installed: str
) -> None:
    """A gate that judges nothing looks like one that does."""
    left = ["default", "kube-public"]
    config = apiserver.kubeconfig()
    judged = {"test": {"namespace": "not-made-yet"}}
    with pytest.raises(HelmFailedError, match="names every namespace of this cluster"):
        helm.install(
            config,
            judged | {"webhooks": {"excludedNamespaces": [*left, ELSEWHERE]}},
            "--dry-run=server",
        )
    helm.install(config, judged | {"webhooks": {"excludedNamespaces": left}}, "--dry-run=server")


async def test_the_kinds_outlive_their_chart(
    client: Client, apiserver: ApiServer, helm: Helm, kinds: None
) -> None:
    """Removing the chart of kinds must not remove all profiles, and with them all rights."""
    helm.run("uninstall", "sallyport-crds", "--kubeconfig", apiserver.kubeconfig())
    crd = await client.get(
        "apiextensions.k8s.io/v1", "CustomResourceDefinition", "containerprofiles.sallyport.dev"
    )
    assert "deletionTimestamp" not in crd["metadata"]
    helm.run("install", "sallyport-crds", CRDS, "--kubeconfig", apiserver.kubeconfig())
