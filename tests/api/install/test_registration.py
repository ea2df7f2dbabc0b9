"""No step of an installation's life locks a cluster out, or opens it unasked."""

import pytest

from tests.api.install.conftest import WHEN_READY
from tests.api.install.questions import GATE, MERGE, created, registrations
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.harness.programs.helm import RELEASE, Helm, HelmFailedError
from tests.harness.sizes import PROOF

NONE, ALL = [404] * 4, [200] * 4
KINDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


async def test_an_installation_whose_gate_never_starts_refuses_nobody(
    admin: Client, apiserver: ApiServer, helm: Helm, taken_away: tuple[str, ...]
) -> None:
    """Neither an upgrade nor a rollback changes that; control registers once a gate is reached."""
    config = apiserver.kubeconfig()
    helm.install(config, {}, *WHEN_READY)
    helm.install(config, {"image": {"repository": "registry.example/broken"}}, *WHEN_READY)
    helm.run("rollback", RELEASE, "1", *taken_away)
    assert await registrations(admin) == ALL
    assert (await created(admin))[0] == 201


async def test_nothing_is_refused_after_it_was_taken_away(
    admin: Client, apiserver: ApiServer, helm: Helm, taken_away: tuple[str, ...]
) -> None:
    """No registration is left that nobody answers."""
    helm.install(apiserver.kubeconfig(), {})
    assert await registrations(admin) == ALL
    assert (await created(admin))[0] == 500
    helm.run("uninstall", RELEASE, "--no-hooks", *taken_away)
    assert await registrations(admin) == NONE
    assert (await created(admin))[0] == 201


@pytest.mark.proof
@pytest.mark.skipif(not PROOF, reason="a proof: set SALLYPORT_PROOF=1 (make proof)")
async def test_what_autoscaling_decided_outlives_upgrades_and_rollbacks(
    admin: Client, apiserver: ApiServer, helm: Helm, taken_away: tuple[str, ...]
) -> None:
    """Helm writes as many gates as there are: never the field's default, one."""
    config = apiserver.kubeconfig()
    values = {"gate": {"autoscaling": {"enabled": True, "maxReplicas": 8}}}

    async def replicas() -> int:
        _, found = await admin.request("GET", GATE)
        return int(found["spec"]["replicas"])

    helm.install(config, {})
    helm.install(config, values)
    assert await replicas() == 2
    status, _ = await admin.request(
        "PATCH",
        f"{GATE}/scale",
        {"spec": {"replicas": 6}},
        parameters={"fieldManager": "kube-controller-manager"},
        content_type=MERGE,
    )
    assert status == 200
    helm.install(config, {**values, "logFormat": "console"})
    assert await replicas() == 6
    helm.run("rollback", RELEASE, "1", "--force-conflicts", *taken_away)
    assert await replicas() == 2


async def test_kinds_that_are_missing_or_old_are_refused_with_what_to_do(
    admin: Client, apiserver: ApiServer, helm: Helm
) -> None:
    """Otherwise gates would never become ready, or kube-apiserver would drop what it is given."""
    config = apiserver.kubeconfig()
    path = f"{KINDS}/weightstores.sallyport.dev"
    _, whole = await admin.request("GET", path)
    await admin.request("DELETE", path)
    await admin.wait_until_gone(path)  # Its objects are deleted first.
    try:
        with pytest.raises(HelmFailedError, match=r"weightstores\.sallyport\.dev is not in this"):
            helm.install(config, {}, "--dry-run=server")
    finally:
        old = {key: whole[key] for key in ("apiVersion", "kind", "spec")}
        old["metadata"] = {key: whole["metadata"][key] for key in ("name", "labels", "annotations")}
        (version,) = old["spec"]["versions"]
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        field, schema = next(iter(spec["properties"].items()))
        bare = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version["schema"]["openAPIV3Schema"]["properties"]["spec"] = bare
        await admin.request("POST", KINDS, old)
    with pytest.raises(HelmFailedError, match=f"older than this release: .*spec has no {field}"):
        helm.install(config, {}, "--dry-run=server")
    assert schema
    version["schema"]["openAPIV3Schema"]["properties"]["spec"] = spec
    status, answer = await admin.request("PATCH", path, {"spec": old["spec"]}, content_type=MERGE)
    assert status == 200, answer
    helm.install(config, {}, "--dry-run=server")
