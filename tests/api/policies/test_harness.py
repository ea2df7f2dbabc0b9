"""The harness itself: what other tests build on without asking again."""

from pathlib import Path
from typing import Any

import pytest
from kubernetes import client as kubernetes_client
from kubernetes import config

from tests.harness.oracles.pod_security_agreement import compare
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import ApiStatusError, Client, Outcome, connect
from tests.harness.programs.webhooks import registered
from tests.harness.worlds.pods import RESTRICTED, Pod
from tests.harness.worlds.rbac import binding, group


async def test_users_have_no_right_that_was_not_given(apiserver: ApiServer, client: Client) -> None:
    """A user with a token must be refused what RBAC does not grant, as must an impersonated one."""
    async with connect(apiserver, "alice") as alice:
        for powerless in (alice, client.as_user("eve", ["system:authenticated"])):
            with pytest.raises(ApiStatusError) as error:
                await powerless.get("v1", "Namespace", "default")
            assert error.value.status == 403


async def test_rbac_reaches_groups_of_users(apiserver: ApiServer, client: Client) -> None:
    """A right given to a group holds for its members, by token and by impersonation."""
    view = binding("system:aggregate-to-view", group("researchers"), name="researchers-view")
    await client.apply([view])
    async with connect(apiserver, "alice") as alice:
        for member in (alice, client.as_user("mallory", ["researchers", "system:authenticated"])):
            await member.wait_until_can("get", {"resource": "namespaces", "name": "default"})
            assert (await member.get("v1", "Namespace", "default"))["metadata"]["name"] == "default"
    await client.delete(view)


async def test_kubeconfigs_work_for_the_official_client(
    apiserver: ApiServer,
    client: Client,
) -> None:
    """A kubeconfig, of a user or a service account, must let the Kubernetes client sign in."""
    await client.create_namespace("kubeconfigs")
    token = await client.create_token("default", "kubeconfigs")
    expected = {
        apiserver.kubeconfig("bob"): "bob",
        apiserver.kubeconfig_for_token("robot", token): "system:serviceaccount:kubeconfigs:default",
    }
    for path, name in expected.items():
        # The package types neither its loader nor plain maps as bodies.
        load: Any = config.new_client_from_config
        with load(str(path)) as api_client:
            api: Any = kubernetes_client.AuthenticationV1Api(api_client)
            review = api.create_self_subject_review(
                {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
            )
        assert review.status.user_info.username == name


async def test_unreachable_webhooks_are_asked_and_then_gone(
    apiserver: ApiServer,
    client: Client,
) -> None:
    """While registered, the fail-closed webhooks keep Pods out if nobody answers; then not."""
    await client.create_namespace("no-gate")
    nobody = "https://127.0.0.1:1"
    async with registered(client, nobody, apiserver.authority.pem):
        with pytest.raises(ApiStatusError, match=r'failed calling webhook "validate\.sallyport'):
            await client.dry_run_create(RESTRICTED.pod(), "no-gate")
    answer = await client.dry_run_create(RESTRICTED.pod(), "no-gate")
    assert answer.outcome is Outcome.ALLOWED


async def test_a_wrong_verdict_is_noticed(client: Client) -> None:
    """A judge that lets all in must be contradicted on each Pod that a level refuses, twice."""

    def lenient(_pod: Pod, _profile: str) -> bool:
        return True

    tally = await compare(client, lenient, seed=1, valid=200)
    refused = {"baseline admits": 1, "baseline refuses": 2}
    expected = sum(
        2 * levels * count
        for verdict, count in tally.verdicts.items()
        if "restricted refuses" in verdict
        for word, levels in refused.items()
        if word in verdict
    )
    assert expected > 0
    assert len(tally.disagreements) == expected
    assert all(each.ours and not each.theirs for each in tally.disagreements)


async def test_a_comparison_goes_on_where_it_was_cut_off(client: Client, tmp_path: Path) -> None:
    """What the journal holds is not asked about again, and a torn last line is done anew."""
    journal = tmp_path / "journal"

    def strict(_pod: Pod, _profile: str) -> bool:
        return False

    def unasked(_pod: Pod, _profile: str) -> bool:
        raise AssertionError

    first = await compare(client, strict, seed=1, valid=1, journal=journal)
    journal.write_bytes(journal.read_bytes() + b'{"asked":')
    again = await compare(client, unasked, seed=1, valid=first.valid, journal=journal)
    assert again == first
