"""Who may do what, as the real authorizer says it."""

import pytest

from core.base.errors import AccessReviewError
from core.people.subject import Subject
from kube.client.settings import LiveSettings
from kube.cluster.live import LiveCluster
from tests.api.kube.objects import new_name, wait_for
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.harness.worlds.rbac import grant, use_of, user

ALICE = Subject("alice", groups=["system:authenticated"])


async def test_rights_follow_bindings_within_the_cache_ages(
    client: Client, apiserver: ApiServer
) -> None:
    """A RoleBinding counts, and its removal counts, once the remembered answer is too old."""
    namespace, name = new_name("rights"), new_name("use")
    await client.create_namespace(namespace)
    role, binding = grant(name, use_of("small"), user("alice"), namespace=namespace)
    await client.create(role)
    settings = LiveSettings(allow_age_s=0.5, deny_age_s=0.2)
    cluster = LiveCluster(apiserver.kubeconfig(), settings)
    await cluster.start()

    async def allowed(profile: str = "small", place: str = namespace) -> bool:
        return await cluster.allowed(ALICE, "use", "containerprofiles", profile, place)

    async def refused() -> bool:
        return not await allowed()

    try:
        assert not await allowed()
        await client.create(binding)
        await wait_for(allowed, 60)
        assert not await allowed("large")
        assert not await allowed(place="default")
        await client.delete(binding)
        assert await wait_for(refused, 60) < LiveSettings().allow_age_s
    finally:
        await cluster.stop()


async def test_a_service_account_and_a_master_are_known(live: LiveCluster) -> None:
    """Groups travel with the question: masters may do everything, a stranger nothing."""
    master = Subject("root", groups=["system:masters"])
    question = ("use", "containerprofiles", "anything", "default")
    assert await live.allowed(master, *question)
    assert not await live.allowed(Subject("stranger"), *question)


async def test_without_the_right_to_ask_there_is_an_error(apiserver: ApiServer) -> None:
    """A gate that may not create SubjectAccessReviews gets an error, never a no."""
    cluster = LiveCluster(apiserver.kubeconfig("bob"))
    await cluster.start()
    try:
        with pytest.raises(AccessReviewError, match=r"403 .*RBAC"):
            await cluster.allowed(ALICE, "use", "containerprofiles", "small", "default")
    finally:
        await cluster.stop()


async def test_a_question_about_nobody_is_an_error(live: LiveCluster) -> None:
    """What kube-apiserver refuses to review is not a denial."""
    with pytest.raises(AccessReviewError, match="422"):
        await live.allowed(Subject(), "use", "containerprofiles", "small", "default")
