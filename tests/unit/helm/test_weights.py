"""The chart's values of the weights: who is told what, who signs in, where heads are anchored."""

from pathlib import Path

import pytest

from app.entra.clients import sign_in_of
from app.processes.auditor.weight_logs import cluster_of
from app.settings.azure_roles import require_azure_sign_in
from app.settings.root import Settings
from app.settings.weights import require_whole
from identity.clients.tokens import CredentialKind
from tests.harness.programs.client import Json
from tests.harness.programs.helm import Helm, Values, named, pod_templates
from tests.unit.helm.switches import GUID, IDENTITY, OTHER_GUID, SWITCHES, WITNESS_KEY
from tests.unit.helm.test_settings_files import settings_of

CLIENT = "azure.workload.identity/client-id"

FROM_AZURE = SWITCHES["weights from Azure"]
AS_THE_NODES: Values = {
    **FROM_AZURE,
    "identity": {},
    "weights": {
        **FROM_AZURE["weights"],
        "signIn": {"tenant": GUID, "credential": "managed-identity"},
    },
}
ROLES: Values = SWITCHES["weights by a connection string"]
ROLES_AND_RISK: Values = {
    "identity": IDENTITY,
    "weights": {"azure": {"enabled": True, "clientId": OTHER_GUID}},
}


def volumes_of(objects: list[Json], component: str) -> dict[str, Json]:
    """Return the volumes of a process by name."""
    spec = pod_templates(objects)[f"sallyport-{component}"]["spec"]
    return {volume["name"]: volume for volume in spec["volumes"]}


def has_token(objects: list[Json], component: str) -> bool:
    """Return whether a process has a token that Entra takes."""
    volumes = volumes_of(objects, component).values()
    sources = [
        source for volume in volumes for source in volume.get("projected", {}).get("sources", [])
    ]
    return any("serviceAccountToken" in source for source in sources)


def client_of(objects: list[Json], component: str) -> str | None:
    """Return the application that a process's account is said to be."""
    meta = named(objects, "ServiceAccount", f"sallyport-{component}")["metadata"]
    found: str | None = meta.get("annotations", {}).get(CLIENT)
    return found


def test_weights_settings_arrive_as_the_values_say(helm: Helm, tmp_path: Path) -> None:
    """Lists, odd numbers and names of one's own arrive as they were given."""
    objects = helm.objects(SWITCHES["weights from a mount"])
    section = settings_of(objects, "auditor", tmp_path).weights
    assert section.folder == Path("/var/lib/sallyport/logs")
    assert (section.poll_every, section.patience) == (5, 0)
    assert (section.token_hours, section.delay) == (1.5, 3600)
    assert section.most_pods == 2_000_000
    assert section.networks.model_dump() == {
        "pods": ["10.240.0.0/12"],
        "nodes": ["10.4.0.0/16"],
        "others": ["10.9.0.0/16"],
        "shared": ["203.0.113.7/32"],
        "leaves_as": "pod",
    }
    assert section.node_identities == section.tenants == section.subscriptions == [GUID]
    assert section.tuning == {"copy-out.bytes": 1073741824}
    assert section.expected == {"mass-delete": [f"oid:{GUID}"]}
    control = settings_of(objects, "control", tmp_path).weights
    assert control.grants.when_ended == "evict"
    assert (control.folder, control.azure.enabled) == (None, False)


def test_the_logs_are_mounted_to_be_read_only(helm: Helm) -> None:
    """By the auditor alone; whoever keeps the ledger changes no evidence."""
    objects = helm.objects(SWITCHES["weights from a mount"])
    claim = {"claimName": "logs", "readOnly": True}
    assert volumes_of(objects, "auditor")["logs"]["persistentVolumeClaim"] == claim
    (container,) = pod_templates(objects)["sallyport-auditor"]["spec"]["containers"]
    (mount,) = [mount for mount in container["volumeMounts"] if mount["name"] == "logs"]
    assert mount == {
        "name": "logs",
        "mountPath": "/var/lib/sallyport/logs",
        "readOnly": True,
        "subPath": "exported/2026",
    }
    for component in ("gate", "control"):
        assert "logs" not in volumes_of(objects, component)


@pytest.mark.parametrize("switch", [name for name in SWITCHES if name.startswith("weights ")])
def test_the_auditor_can_begin_to_read(helm: Helm, tmp_path: Path, switch: str) -> None:
    """Its file is whole: it would not start without the cluster's id or halves of a source."""
    section = settings_of(helm.objects(SWITCHES[switch]), "auditor", tmp_path)
    assert section.weights.follows
    assert cluster_of(section) == "prod"
    require_whole(section.weights)


@pytest.mark.parametrize(
    ("values", "kind", "client"),
    [
        pytest.param(FROM_AZURE, CredentialKind.FEDERATED, OTHER_GUID, id="logs"),
        pytest.param(AS_THE_NODES, CredentialKind.MANAGED_IDENTITY, "", id="as the nodes"),
        pytest.param(SWITCHES["heads anchored"], CredentialKind.FEDERATED, GUID, id="anchor"),
    ],
)
def test_the_auditor_signs_in_as_itself(
    helm: Helm, tmp_path: Path, values: Values, kind: CredentialKind, client: str
) -> None:
    """With a token of its own where it is federated, and with no key."""
    objects = helm.objects(values)
    sign_in = sign_in_of(settings_of(objects, "auditor", tmp_path).identity, None)
    assert (sign_in.tenant, sign_in.client_id, sign_in.kind) == (GUID, client, kind)
    federated = kind is CredentialKind.FEDERATED
    assert has_token(objects, "auditor") is federated
    assert client_of(objects, "auditor") == (client if federated else None)
    assert not has_token(objects, "control")


@pytest.mark.parametrize(
    "switch", ["defaults", "weights from a mount", "weights by a connection string", "identity"]
)
def test_processes_that_ask_azure_nothing_have_no_token(
    helm: Helm, tmp_path: Path, switch: str
) -> None:
    """A token that nobody needs can only be stolen."""
    objects = helm.objects(SWITCHES[switch])
    assert not has_token(objects, "auditor")
    assert client_of(objects, "auditor") is None
    assert settings_of(objects, "auditor", tmp_path).identity == Settings().identity


@pytest.mark.parametrize(
    ("values", "reader", "account"),
    [
        pytest.param(ROLES, GUID, GUID, id="alone"),
        pytest.param(ROLES_AND_RISK, OTHER_GUID, GUID, id="with identity"),
    ],
)
def test_control_can_ask_who_opens_the_stores(
    helm: Helm, tmp_path: Path, values: Values, reader: str, account: str
) -> None:
    """As the application that is named for it, with one token for both."""
    objects = helm.objects(values)
    settings = settings_of(objects, "control", tmp_path)
    require_azure_sign_in(settings.weights.azure, settings.identity)
    assert (settings.weights.azure.tenant, settings.weights.azure.client_id) == (GUID, reader)
    assert has_token(objects, "control")
    assert client_of(objects, "control") == account
    assert not has_token(objects, "auditor")
    for other in ("gate", "auditor"):
        assert not settings_of(objects, other, tmp_path).weights.azure.enabled


def test_just_in_time_arrives(helm: Helm, tmp_path: Path) -> None:
    """It is off unless somebody says so."""
    for values, wanted in ((ROLES, (86400, True)), ({}, (300, False))):
        azure = settings_of(helm.objects(values), "control", tmp_path).weights.azure
        assert (azure.every, azure.just_in_time) == wanted


def test_heads_are_signed_with_the_key_that_control_keeps(helm: Helm, tmp_path: Path) -> None:
    """The key that signs now is all that the auditor sees; another Secret can be named."""
    for switch, secret in (("defaults", "sallyport-ledger-signing"), ("heads anchored", "own-key")):
        objects = helm.objects(SWITCHES[switch])
        ledger = settings_of(objects, "auditor", tmp_path).ledger
        assert ledger.signing_key == Path("/etc/sallyport/signing/current.key")
        volume = volumes_of(objects, "auditor")["signing"]["secret"]
        assert volume["secretName"] == secret
        assert [item["key"] for item in volume["items"]] == ["current.key"]
        for other in ("gate", "control"):
            assert "signing" not in volumes_of(objects, other)


def test_heads_are_anchored_where_the_values_say(helm: Helm, tmp_path: Path) -> None:
    """In four places, of which the file's is the only one that is written through a mount."""
    objects = helm.objects(SWITCHES["heads anchored"])
    ledger = settings_of(objects, "auditor", tmp_path).ledger
    assert ledger.head_every_s == 5
    assert [place.model_dump(exclude_none=True) for place in ledger.anchors] == [
        {"file": Path("/var/lib/sallyport/anchor/prod.jsonl")},
        {"blob": "https://anchors.blob.core.windows.net/anchors/prod"},
        {"config_map": "anchors/prod", "kubeconfig": Path("/etc/sallyport/anchor/kubeconfig")},
        {
            "witness": "https://witness.example:8444",
            "witness_key": WITNESS_KEY,
            "trust": Path("/etc/sallyport/witness/ca.crt"),
        },
    ]
    volumes = volumes_of(objects, "auditor")
    assert volumes["anchor"]["persistentVolumeClaim"] == {"claimName": "append-only"}
    assert volumes["anchor-kubeconfig"]["secret"]["secretName"] == "other-cluster"
    assert volumes["witness-ca"]["secret"]["secretName"] == "witness-ca"
    assert volumes["timestamp-ca"]["secret"]["secretName"] == "tsa-ca"
    assert ledger.timestamp is not None
    assert (ledger.timestamp.url, ledger.timestamp.every_s) == ("http://timestamp.example", 7200)
    assert ledger.timestamp.file == Path("/var/lib/sallyport/anchor/timestamps.jsonl")
    (container,) = pod_templates(objects)["sallyport-auditor"]["spec"]["containers"]
    mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
    assert mounts["anchor"] == {"name": "anchor", "mountPath": "/var/lib/sallyport/anchor"}


def test_without_an_anchor_there_is_none(helm: Helm, tmp_path: Path) -> None:
    """And the notes of the installation warn (tests/api/chart)."""
    objects = helm.objects({})
    assert settings_of(objects, "auditor", tmp_path).ledger.anchors == []
    assert "anchor" not in volumes_of(objects, "auditor")
