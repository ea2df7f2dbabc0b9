"""What risk adds to the rights of gate and control: Secrets by name, and lists; nobody else's."""

from collections.abc import AsyncIterator

import pytest

from core.risk.snapshot_storage import HEAD_NAME, SECRET_NAMES
from tests.api.chart.attempts import rules
from tests.api.chart.conftest import ELSEWHERE
from tests.api.chart.test_gate_rights import OWNERS
from tests.api.kube.objects import wait_for
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.harness.programs.helm import NAMESPACE, Helm
from tests.unit.helm.switches import SWITCHES

RBAC = "rbac.authorization.k8s.io"

SHARDS = set(SECRET_NAMES) - {HEAD_NAME}

READS = {
    *(("get", "", "secrets", name) for name in SECRET_NAMES),
    *((verb, "", "secrets", HEAD_NAME) for verb in ("list", "watch")),
}
"""What both need: the head is watched, shards are fetched."""

CONTROLS = {
    *(("patch", "", "secrets", name) for name in SECRET_NAMES),
    ("get", "", "configmaps", "sallyport-risk-table"),
    *((verb, "", "secrets", "sallyport-look-backs") for verb in ("get", "patch")),
}

LOOKS_BACK = {
    *(("list", *owner[1:]) for owner in OWNERS),
    *(
        ("list", RBAC, kind, "")
        for kind in ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
    ),
    *((verb, "", "events", "") for verb in ("get", "patch")),
}
"""What is listed of somebody at risk, anywhere, and how namespaces are told."""


@pytest.fixture
async def before(admin: Client) -> dict[str, set[tuple[str, str, str, str]]]:
    """What the accounts may do without, by account and namespace."""
    return await all_rules(admin)


@pytest.fixture
async def after(
    before: dict[str, set[tuple[str, str, str, str]]],
    admin: Client,
    apiserver: ApiServer,
    helm: Helm,
) -> AsyncIterator[dict[str, set[tuple[str, str, str, str]]]]:
    """The same once risk decides; the others of this folder find it as it was."""
    helm.install(apiserver.kubeconfig(), SWITCHES["identity"])
    yield await all_rules(admin)
    helm.install(apiserver.kubeconfig(), {})


async def all_rules(admin: Client) -> dict[str, set[tuple[str, str, str, str]]]:
    """Return the rules of each account, in its own namespace and elsewhere."""
    found = {}
    for account in ("gate", "control", "auditor"):
        client = admin.with_token(await admin.create_token(f"sallyport-{account}", NAMESPACE))
        for namespace in (NAMESPACE, ELSEWHERE):
            found[f"{account} in {namespace}"] = await rules(client, namespace)
    return found


async def test_identity_adds_these_rights_and_no_others(
    before: dict[str, set[tuple[str, str, str, str]]],
    after: dict[str, set[tuple[str, str, str, str]]],
) -> None:
    """Each Secret by its name; nothing of anybody elsewhere but lists of what people made."""
    added = {where: found - before[where] for where, found in after.items()}
    assert added == {
        f"gate in {NAMESPACE}": READS,
        f"gate in {ELSEWHERE}": set(),
        f"control in {NAMESPACE}": READS | CONTROLS | LOOKS_BACK,
        f"control in {ELSEWHERE}": LOOKS_BACK,
        f"auditor in {NAMESPACE}": set(),
        f"auditor in {ELSEWHERE}": set(),
    }
    assert all(before[where] <= found for where, found in after.items())


async def test_whoever_may_read_risk_reads_it_and_nothing_else(
    admin: Client, after: dict[str, set[tuple[str, str, str, str]]]
) -> None:
    """The Role for people, bound to somebody."""
    del after
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "risk-readers", "namespace": NAMESPACE},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "sallyport-read-risk"},
        "subjects": [{"kind": "User", "apiGroup": RBAC, "name": "sec@example.com"}],
    }
    reader = admin.as_user("sec@example.com")
    had = await rules(reader, NAMESPACE)
    await admin.create(binding)
    try:

        async def gained() -> bool:
            return await rules(reader, NAMESPACE) != had

        await wait_for(gained, 60)  # Until the authorizer has read the binding.
        found = await rules(reader, NAMESPACE) - had
        assert found == {("get", "", "secrets", name) for name in SECRET_NAMES}
    finally:
        await admin.delete(binding)
