"""The gate's account can do the gate's work, and no more; the auditor's can do nothing."""

import pytest

from app.cluster.default_deny import default_deny_of
from app.settings.egress import EgressSection
from core.kubernetes.workload_kinds import WORKLOADS
from core.people.subject import Subject
from core.policy_bundles import GATES_NAME, HEAD_NAME, MOST_PARTS, SLOTS, part_name
from kube.client.settings import LiveSettings
from kube.cluster.live import LiveCluster
from kube.resources.known_fields import ADDED, FILLED
from tests.api.chart.attempts import rules
from tests.api.chart.conftest import ELSEWHERE
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.harness.programs.helm import NAMESPACE

DENY = "sallyport-default-deny"

READS = {
    ("list", "sallyport.dev", "containerprofiles", ""),
    ("watch", "sallyport.dev", "containerprofiles", ""),
    ("list", "", "namespaces", ""),
    ("watch", "", "namespaces", ""),
    ("list", "", "persistentvolumes", ""),
    ("watch", "", "persistentvolumes", ""),
    ("list", "node.k8s.io", "runtimeclasses", ""),
    ("watch", "node.k8s.io", "runtimeclasses", ""),
    *(
        (verb, "", kind, "")
        for verb in ("list", "watch")
        for kind in ("services", "serviceaccounts")
    ),
    *(
        (verb, "sallyport.dev", kind, "")
        for verb in ("list", "watch")
        for kind in ("policyexceptions", "approvals", "breakglasses", "clusterapprovals")
    ),
    *(
        (verb, "sallyport.dev", kind, "")
        for verb in ("list", "watch")
        for kind in ("weightstores", "accessgrants")
    ),
    ("create", "authorization.k8s.io", "subjectaccessreviews", ""),
    ("list", "networking.k8s.io", "networkpolicies", ""),
    ("watch", "networking.k8s.io", "networkpolicies", DENY),
    ("list", "cilium.io", "ciliumnetworkpolicies", DENY),
    ("watch", "cilium.io", "ciliumnetworkpolicies", DENY),
}
"""What judging takes."""

GETS = {
    ("get", "rbac.authorization.k8s.io", "roles", ""),
    ("get", "rbac.authorization.k8s.io", "clusterroles", ""),
    ("get", "", "pods", ""),
    ("get", "sallyport.dev", "policyexceptions", ""),
    ("get", "sallyport.dev", "breakglasses", ""),
    ("get", "sallyport.dev", "accessgrants", ""),
    *(
        (verb, "sallyport.dev", kind, "")
        for verb in ("get", "list")
        for kind in ("egressallowlists", "egressdestinations")
    ),
}
"""What judging a binding, who enters a Pod, an approval, and where Pods may connect takes."""

OWNERS = {
    ("get", each.group, each.resource, "")
    for each in WORKLOADS.values()
    if each.namespaced and each.controllers
}
"""What tracing a Pod to who asked for it takes."""

TO_READ = ("get", "list", "watch")

CAPACITY = "sallyport-sandbox-capacity"
OPENINGS = "sallyport-weight-openings"

PARTS = {
    ("get", "", "configmaps", part_name(slot, number))
    for slot in range(SLOTS)
    for number in range(MOST_PARTS)
}
"""What holds the policy bundles that are published."""

IN_ITS_NAMESPACE = {
    *(
        (verb, "", "configmaps", name)
        for verb in ("list", "watch")
        for name in (CAPACITY, OPENINGS, HEAD_NAME, ADDED, FILLED)
    ),
    *PARTS,
    ("patch", "", "configmaps", GATES_NAME),
}
"""How full the sandbox's nodes are, what is known of fields, which allowlists lead to weights, and
which policies are in force: it says there which it has loaded."""

EVERYONE = {
    ("use", "sallyport.dev", "containerprofiles", "pss-restricted"),
    # Since Kubernetes 1.37: certificates that everybody may read.
    *((verb, "certificates.k8s.io", "clustertrustbundles", "") for verb in TO_READ),
}


@pytest.mark.parametrize("account", ["sallyport-gate", "sallyport-control"])
async def test_gate_loads_and_judges_with_its_own_token(
    admin: Client, apiserver: ApiServer, account: str
) -> None:
    """With its own token alone it loads everything and asks who may do what."""
    token = await admin.create_token(account, NAMESPACE)
    deny = default_deny_of(EgressSection()) if account == "sallyport-gate" else None
    kubeconfig = apiserver.kubeconfig_for_token(account, token)
    cluster = LiveCluster(kubeconfig, LiveSettings(default_deny=deny, namespace_wait_s=0.1))
    await cluster.start()
    try:
        await cluster.wait(60)
        assert cluster.profiles().by_name.keys() >= {"pss-baseline"}
        assert (await cluster.namespace(ELSEWHERE)).name == ELSEWHERE
        everyone = Subject("someone", groups=["system:authenticated"])
        asked = ("use", "containerprofiles", "pss-restricted", ELSEWHERE)
        assert await cluster.allowed(everyone, *asked)
        assert not await cluster.allowed(Subject("nobody"), *asked)
        assert cluster.runtime_class("nothing") is None
        assert cluster.exposing_services(NAMESPACE, {}) == ()
        assert cluster.service_account_made(NAMESPACE, account) is not None
        if deny is not None:
            assert not await cluster.is_egress_closed(ELSEWHERE)
            assert await cluster.generated_policies(ELSEWHERE) == ()
    finally:
        await cluster.stop()


@pytest.mark.parametrize("namespace", [NAMESPACE, ELSEWHERE])
async def test_the_gate_may_do_nothing_else(admin: Client, namespace: str) -> None:
    """Its rules are these, beside what every account has."""
    gate = admin.with_token(await admin.create_token("sallyport-gate", NAMESPACE))
    own = IN_ITS_NAMESPACE if namespace == NAMESPACE else set()
    assert await rules(gate, namespace) == READS | GETS | OWNERS | EVERYONE | own


@pytest.mark.parametrize("namespace", [NAMESPACE, ELSEWHERE])
async def test_the_auditor_may_ask_whose_a_token_is(admin: Client, namespace: str) -> None:
    """It takes decisions in and asks kube-apiserver for nothing else."""
    auditor = admin.with_token(await admin.create_token("sallyport-auditor", NAMESPACE))
    reviews = ("create", "authentication.k8s.io", "tokenreviews", "")
    assert await rules(auditor, namespace) == EVERYONE | {reviews}
