"""cert-manager makes the certificates: what the chart asks of it is what its own CRDs take."""

import pytest

from control.certificates.store import wanted_leaves
from tests.harness.programs.client import ApiStatusError, Client, Json, read_objects
from tests.harness.programs.helm import NAMESPACE, Helm, HelmFailedError
from tests.harness.published.go_modules import module_folder

VALUES: Json = {"clusterId": "prod", "certificates": {"source": "cert-manager"}}
STRICT = {"dryRun": "All", "fieldValidation": "Strict"}


@pytest.fixture
async def kinds(client: Client) -> None:
    """cert-manager's CRDs, out of its Go module (tests/tools/cert-manager pins it)."""
    module = "github.com/cert-manager/cert-manager"
    folder = module_folder("cert-manager", module, "cert-manager's CRDs") / "deploy" / "crds"
    for file in sorted(folder.glob("cert-manager.io_*.yaml")):
        await client.apply(read_objects(file))
    for kind in ("Certificate", "Issuer"):
        await client.wait_for_kind("cert-manager.io/v1", kind)


def asked(helm: Helm, namespace: str, values: Json) -> list[Json]:
    """Return what the chart asks of cert-manager."""
    objects = helm.objects(values, namespace)
    return [item for item in objects if item["apiVersion"].startswith("cert-manager.io/")]


async def test_its_crds_take_every_object(
    client: Client, helm: Helm, kinds: None, namespace: str
) -> None:
    """Strictly; and one with an unknown field would be found."""
    objects = asked(helm, namespace, VALUES)
    assert len(objects) == 7
    await client.apply(objects, **STRICT)
    objects[-1]["spec"]["unknown"] = True
    with pytest.raises(ApiStatusError, match="unknown"):
        await client.apply(objects[-1:], **STRICT)


def test_it_is_asked_for_what_control_would_make(helm: Helm) -> None:
    """The same Secrets, for the same names and purposes, signed by the issuer that is named."""
    issuer = {"group": "cert-manager.io", "kind": "ClusterIssuer", "name": "site"}
    values = {
        **VALUES,
        "certificates": {
            "source": "cert-manager",
            "certManager": {"issuer": issuer | {"onlyForSallyport": True}},
        },
    }
    objects = asked(helm, NAMESPACE, values)
    made = {item["spec"]["secretName"]: item["spec"] for item in objects}
    wanted = wanted_leaves(NAMESPACE, "prod")
    assert set(made) == set(wanted)
    for name, names in wanted.items():
        spec = made[name]
        assert tuple(spec.get("dnsNames", ())) == names.hosts
        assert tuple(spec.get("uris", ())) == names.uris
        usage = "server auth" if names.hosts else "client auth"
        assert spec["usages"] == ["digital signature", usage]
        assert spec["issuerRef"] == issuer


def test_cainjector_is_told_whose_ca_the_webhooks_need(helm: Helm) -> None:
    """Control does not write there then."""
    found = [
        item["metadata"]["annotations"]["cert-manager.io/inject-ca-from"]
        for item in helm.objects({**VALUES, "webhooks": {"whenReady": False}})
        if item["kind"].endswith("WebhookConfiguration") and item["metadata"]["name"] == "sallyport"
    ]
    assert found == [f"{NAMESPACE}/sallyport-gate-tls"] * 2


def test_without_a_cluster_id_it_is_refused(helm: Helm) -> None:
    """Certificates of clients name the cluster."""
    with pytest.raises(HelmFailedError, match=r"clusterId: missing; certificates\.source"):
        helm.template({"certificates": {"source": "cert-manager"}})


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"certificates": {"authorityDays": 100}}, "certificates.authorityDays: a CA of 100 days"),
        ({"certificates": {"leafDays": 1, "distributionSeconds": 80000}}, "certificates.leafDays"),
        ({"certificates": {"leafDays": 0}}, "leafDays"),
        ({"gate": {"clientNames": ["kube-apiserver"]}}, "gate.clientNames: nobody shows"),
    ],
    ids=["CA", "distribution", "nothing", "names without a CA"],
)
def test_values_that_cannot_work_are_refused(helm: Helm, values: Json, said: str) -> None:
    """With what to do instead."""
    with pytest.raises(HelmFailedError, match=said):
        helm.template(values)
