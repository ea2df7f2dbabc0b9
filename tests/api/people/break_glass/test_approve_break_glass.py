"""`sallyport approve breakglass` shows what would be relaxed, and approves what it has shown."""

import json

from tests.api.admission.objects import new_namespace
from tests.api.people.break_glass.glass import TIER, new_name, sealed, set_up
from tests.api.people.exceptions.exceptions import API, AUTHOR
from tests.api.people.exceptions.test_approve_command import approve
from tests.harness.programs.client import Client
from tests.harness.programs.guarded_apiserver import Installation
from tests.harness.worlds.rbac import binding, grant, rule, user


async def test_it_is_shown_and_approved_as_it_was_shown(
    admin: Client, installation: Installation
) -> None:
    """What it relaxes is marked; the approval holds the digest that was shown."""
    await set_up(admin)
    people = [user("alice")]
    role = "sallyport-approve-break-glass"
    await admin.apply([binding(role, *people, name="glass-people")])
    kinds = rule(["sallyport.dev"], "breakglasses clusterapprovals", "get list create")
    await admin.apply(grant("glass-shower", kinds, *people))
    await admin.as_user("alice").wait_until_can("approve", TIER)
    namespace, name = await new_namespace(admin), new_name()
    glass = sealed(namespace, name, egress={"workloads": ["Job/fetch"]})
    await admin.as_user(AUTHOR).create(glass)
    code, shown, _ = await approve(installation, "alice", "breakglass", name, "--show")
    assert code == 0
    for words in ("state:    sealed", "for 1 hour, only warn", "+ EVERYTHING that can be relaxed"):
        assert words in shown
    opened = f"+ Pods of Job/fetch of namespace {namespace} connect EVERYWHERE"
    assert f"{opened} but to reserved ranges" in shown
    code, shown, errors = await approve(
        installation, "alice", "breakglass", name, "--yes", "-o", "json"
    )
    assert code == 0, errors
    answer = json.loads(shown)
    assert (answer["kind"], answer["approved"], answer["namespace"]) == ("BreakGlass", True, "")
    stored = await admin.get(API, "ClusterApproval", answer["approval"])
    assert stored["spec"]["for"]["digest"] == answer["digest"]
