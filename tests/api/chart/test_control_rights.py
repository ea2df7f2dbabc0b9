"""control's account can do what its loops do, by real requests, and no more."""

import pytest

from control.approvals.loop import RESOURCES
from control.egress.dns_store import MOST_SHARDS
from control.weights.changes.loop import BUNDLE, RISK_TABLE
from control.weights.changes.store import name_of
from control.weights.checkpoint import NAME as REACHED
from core.policy_bundles import GATES_NAME, HEAD_NAME
from kube.resources.known_fields import ADDED, FILLED
from kube.weights.recorded_objects import KINDS
from kube.weights.store_access import NAME as STORE_ACCESS
from tests.api.chart.attempts import LEASES, MERGE, OTHER, OWN, WEBHOOKS, rules
from tests.api.chart.conftest import ELSEWHERE, SECRETS
from tests.api.chart.test_gate_rights import (
    CAPACITY,
    DENY,
    EVERYONE,
    OPENINGS,
    OWNERS,
    PARTS,
    READS,
)
from tests.harness.programs.client import Client, Json
from tests.harness.programs.helm import NAMESPACE

REGISTRATIONS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
CRD = "containerprofiles.sallyport.dev"

POLICIES = (
    ("networking.k8s.io", "networkpolicies"),
    ("cilium.io", "ciliumnetworkpolicies"),
    ("policy.networking.k8s.io", "clusternetworkpolicies"),
)

EVALUATED = tuple(
    f"{each}.sallyport.dev"
    for each in (
        "backstop",
        "endpointslice-guard",
        "kinds-guard",
        "namespace-guard",
        "own-namespace-guard",
        "pod-address-guard",
        "pod-annotation-guard",
        "revision-guard",
        "revision-owner-guard",
        "status-guard",
    )
)
"""The policies that kube-apiserver evaluates itself."""

EGRESS = {
    *(
        (verb, "sallyport.dev", "egressallowlists", "")
        for verb in ("get", "list", "watch", "patch", "close")
    ),
    ("patch", "sallyport.dev", "egressallowlists/status", ""),
    *((verb, "sallyport.dev", "egressdestinations", "") for verb in ("list", "watch")),
    *((verb, "discovery.k8s.io", "endpointslices", "") for verb in ("list", "watch")),
    ("create", "", "pods/eviction", ""),
    *(
        (verb, *kind, "")
        for verb in ("list", "watch", "create", "patch", "update", "delete")
        for kind in POLICIES
    ),
}
"""What it takes to keep the policies of enrolled namespaces."""

EVERYWHERE = {
    *(each for each in READS if each[-1] != DENY),  # It watches all policies.
    *OWNERS,
    ("get", "", "namespaces", ""),
    *(("list", "", resource, "") for resource in ("pods", "nodes")),
    ("watch", "", "pods", ""),
    *((verb, "sallyport.dev", "auditstatements", "") for verb in ("list", "watch")),
    ("create", "", "events", ""),
    *((verb, "openreports.io", "reports", "") for verb in ("list", "create", "patch", "delete")),
    *((verb, "openreports.io", "clusterreports", "") for verb in ("create", "patch")),
    *(
        (verb, "admissionregistration.k8s.io", kind, name)
        for verb in ("get", "patch")
        for kind in REGISTRATIONS
        for name in ("sallyport", "sallyport-discovered", "sallyport-probe")
    ),
    *(
        (verb, "admissionregistration.k8s.io", kind, name)
        for verb in ("get", "patch")
        for kind in ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
        for name in EVALUATED
    ),
    *(
        ("create", "admissionregistration.k8s.io", kind, "")
        for kind in (
            *REGISTRATIONS,
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
        )
    ),
    ("get", "rbac.authorization.k8s.io", "clusterroles", "sallyport-control"),
    *((verb, "apiextensions.k8s.io", "customresourcedefinitions", "") for verb in ("get", "list")),
    *EGRESS,
    *(("patch", "sallyport.dev", f"{resource}/status", "") for resource in RESOURCES.values()),
    ("write", "sallyport.dev", "statuses", ""),
}

KEPT = (REACHED, *map(name_of, (*KINDS, BUNDLE, RISK_TABLE)), STORE_ACCESS)
"""Up to where Pods are recorded, and which changes; who can open the stores."""

IN_ITS_NAMESPACE = {
    *(("create", "", resource, "") for resource in ("secrets", "configmaps")),
    *((verb, "", "secrets", name) for verb in ("get", "patch") for name in SECRETS),
    *((verb, "", "configmaps", "sallyport-sweep") for verb in ("get", "update")),
    ("get", "", "configmaps", "sallyport-registrations"),
    ("create", "sallyport.dev", "backstops", ""),
    *((verb, "sallyport.dev", "backstops", "sallyport-backstop") for verb in ("get", "patch")),
    *(
        (verb, "", "configmaps", name)
        for verb in ("get", "list", "watch", "patch")
        for name in (CAPACITY, OPENINGS, FILLED)
    ),
    *((verb, "", "configmaps", ADDED) for verb in ("list", "watch")),
    ("create", "", "podtemplates", ""),
    *(
        (verb, "", "configmaps", f"sallyport-egress-names-{index}")
        for verb in ("get", "patch", "delete")
        for index in range(MOST_SHARDS)
    ),
    *((verb, "", "configmaps", name) for verb in ("get", "patch") for name in (*KEPT, GATES_NAME)),
    *((verb, "", "configmaps", HEAD_NAME) for verb in ("get", "list", "watch", "update")),
    *PARTS,
    ("create", "coordination.k8s.io", "leases", ""),
    *((verb, "coordination.k8s.io", "leases", "sallyport-control") for verb in ("get", "update")),
}


@pytest.fixture
async def control(admin: Client, nothing_of_control: None) -> Client:
    """Whoever has control's token."""
    return admin.with_token(await admin.create_token("sallyport-control", NAMESPACE))


async def write(client: Client, collection: str, item: Json, *, by: str) -> None:
    """Create an object, read it, and change it by PUT or PATCH; by the other it may not."""
    name = item["metadata"]["name"]
    status, answer = await client.request("POST", collection, item)
    assert status == 201, answer
    status, read = await client.request("GET", f"{collection}/{name}")
    assert status == 200, read
    change: Json = {"metadata": {"labels": {"changed": "yes"}}}
    path = f"{collection}/{name}"
    statuses = {
        "PUT": (await client.request("PUT", path, read))[0],
        "PATCH": (await client.request("PATCH", path, change, content_type=MERGE))[0],
    }
    assert statuses == {"PUT": 403, "PATCH": 403} | {by: 200}


@pytest.mark.parametrize("name", SECRETS)
async def test_it_makes_and_renews_its_secrets(control: Client, name: str) -> None:
    """Each of them, and by name only."""
    item = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {}}
    await write(control, f"{OWN}/secrets", item, by="PATCH")
    status, _ = await control.request("GET", f"{OTHER}/secrets/{name}")
    assert status == 403


async def test_it_leads_and_keeps_its_place(control: Client) -> None:
    """Its Lease and the cursor of its sweep, in its own namespace."""
    lease = {"metadata": {"name": "sallyport-control"}, "spec": {"holderIdentity": "a"}}
    await write(control, f"{LEASES}/{NAMESPACE}/leases", lease, by="PUT")
    cursor = {"metadata": {"name": "sallyport-sweep"}, "data": {"cursor": "{}"}}
    await write(control, f"{OWN}/configmaps", cursor, by="PUT")


async def test_it_sweeps_page_by_page(control: Client) -> None:
    """All Pods of the cluster can be listed."""
    status, answer = await control.request("GET", "/api/v1/pods?limit=1")
    assert (status, answer["kind"]) == (200, "PodList")


async def test_it_sees_the_kinds_and_the_registrations(control: Client) -> None:
    """Those of these names."""
    kinds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for path in (f"{kinds}/{CRD}", *(f"{WEBHOOKS}/{kind}/sallyport" for kind in REGISTRATIONS)):
        status, _ = await control.request("GET", path)
        assert status == 200, path
    status, _ = await control.request("GET", OTHER)
    assert status == 200


async def test_control_has_no_further_rights(control: Client) -> None:
    """Its rules are these, beside what every account has."""
    assert await rules(control, ELSEWHERE) == EVERYWHERE | EVERYONE
    assert await rules(control, NAMESPACE) == EVERYWHERE | EVERYONE | IN_ITS_NAMESPACE
