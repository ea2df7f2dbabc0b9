"""A right to a profile begins and ends within the stated ages of the access reviews' cache."""

from tests.api.admission.conftest import ALLOW_AGE_S
from tests.api.admission.objects import (
    GOOD,
    allow_pods,
    assert_begins_in_time,
    new_namespace,
    privileged,
    seconds_until,
)
from tests.harness.programs.client import Answer, Client, Outcome
from tests.harness.worlds.rbac import grant, use_of, user

ALICE = "alice@example.com"
MARGIN_S = 6.0
"""For RBAC's own propagation inside kube-apiserver, and a loaded machine."""


async def test_a_right_begins_and_ends_in_time(admin: Client) -> None:
    """Refused without the right; admitted within 5 s of a RoleBinding; refused after it is gone."""
    namespace = await new_namespace(admin)
    await allow_pods(admin, namespace, ALICE)
    alice = admin.as_user(ALICE)
    assert (await alice.dry_run_create(GOOD(), namespace)).outcome is Outcome.ALLOWED

    refused = await alice.dry_run_create(privileged(), namespace)
    assert refused.outcome is Outcome.DENIED
    _assert_helpful(refused)

    rights = use_of("pss-privileged")
    role, binding = grant("use", rights, user(ALICE), namespace=namespace)
    await admin.apply((role, binding))
    await assert_begins_in_time(alice, namespace, privileged())

    await admin.delete(binding)
    ended = await seconds_until(alice, namespace, privileged(), Outcome.DENIED)
    assert ended < ALLOW_AGE_S + MARGIN_S


def _assert_helpful(refused: Answer) -> None:
    """The message names field, privilege and fix, no decision, since none is kept, and nobody."""
    for text in ("spec.hostNetwork", "host/network", "Fix:", "pss-privileged", "A dry run"):
        assert text in refused.message
    assert ALICE not in refused.message
    first = refused.message.partition("denied the request: ")[2].splitlines()[0]
    assert len(first) < 120
