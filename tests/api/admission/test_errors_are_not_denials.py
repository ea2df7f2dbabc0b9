"""When nobody says who may do what, a review is refused, and said to be an error."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.admission.objects import GOOD, new_namespace
from tests.harness.load.reviews import pod_review, post
from tests.harness.programs.client import Client
from tests.harness.programs.gate import Gate
from tests.harness.programs.guarded_apiserver import Installation
from tests.harness.worlds.rbac import grant, rule, service_account

WATCHER = "watcher"


@pytest.fixture
async def kubeconfig_without_reviews(admin: Client, installation: Installation) -> Path:
    """An account that may watch, but may not ask who may do what."""
    await admin.create_service_account(WATCHER, "default")
    watched = "configmaps namespaces persistentvolumes containerprofiles weightstores"
    rights = rule(["", "sallyport.dev"], watched, "list watch")
    await admin.apply(grant(WATCHER, rights, service_account(WATCHER, "default")))
    token = await admin.create_token(WATCHER, "default")
    return installation.apiserver.kubeconfig_for_token(WATCHER, token)


@pytest.fixture(params=["forbidden", "slow"])
async def crippled_gate(
    request: pytest.FixtureRequest,
    installation: Installation,
    kubeconfig_without_reviews: Path,
    tmp_path: Path,
) -> AsyncIterator[Gate]:
    """A gate whose access reviews are refused, or never come back in time."""
    slow = request.param == "slow"
    kubeconfig = installation.kubeconfig if slow else kubeconfig_without_reviews
    settings = {"SALLYPORT_ACCESS__TIMEOUT": "0.0001"} if slow else {}
    authority = installation.apiserver.authority
    gate = await asyncio.to_thread(Gate, tmp_path, authority, kubeconfig, settings, strangers=True)
    yield gate
    gate.stop()


async def test_an_access_review_that_fails_is_an_error(
    crippled_gate: Gate, installation: Installation, admin: Client
) -> None:
    """Even a good Pod is refused, with code 500 and the word error; a denial would be 403."""
    namespace = await new_namespace(admin)
    body = pod_review(GOOD(), namespace, "alice@example.com")
    url = f"{crippled_gate.url}/validate?timeout=10s"
    status, review = await post(url, body, installation.apiserver.authority.pem)
    assert status == 200
    response = review["response"]
    assert response["allowed"] is False
    assert response["status"]["code"] == 500
    assert "This is an error, not a denial" in response["status"]["message"]
    assert response["auditAnnotations"]["verdict"] == "error"
    _, metrics = crippled_gate.status("/metrics")
    assert 'sallyport_errors_total{kind="access-review"} 1.0' in metrics
    assert "alice" not in metrics + response["status"]["message"] + crippled_gate.log_tail()
