"""A folder's RBAC gives the answers of kube-apiserver's authorizer, on made-up clusters."""

from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import product

import msgspec
import pytest

from kube.rbac.default_roles import bootstrap_roles
from kube.rbac.objects import GROUP, PolicyRule
from tests.api.kube.rbac_agreement import compare
from tests.harness.evidence import record
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, connect
from tests.harness.programs.controller_manager import ControllerManager
from tests.harness.sizes import PROOF, size

QUESTIONS = 600
"""Of each world."""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A cluster of this file's own, with the controller that fills aggregated ClusterRoles."""
    for program in ("etcd", "kube-apiserver", "kube-controller-manager"):
        require(program)
    apiserver = ApiServer(tmp_path_factory.mktemp("apiserver"))
    folder = tmp_path_factory.mktemp("controllers")
    try:
        manager = ControllerManager(folder, apiserver, "clusterrole-aggregation-controller")
        yield apiserver
        manager.stop()
    finally:
        apiserver.stop()


@pytest.fixture
async def admin(alone: ApiServer) -> AsyncIterator[Client]:
    """A client of it with all rights."""
    async with connect(alone) as client:
        yield client


@pytest.mark.proof
async def test_the_folder_answers_as_kube_apiserver_does(admin: Client, alone: ApiServer) -> None:
    """No answer and no aggregated ClusterRole differs, over thousands of questions."""
    worlds = size(ci=3, proof=50)
    tally = await compare(admin, range(worlds), QUESTIONS)
    assert not tally.differences, "\n".join(tally.differences[:20])
    assert tally.asked == worlds * QUESTIONS
    assert tally.aggregated == 7 * worlds
    assert 0.1 < tally.allowed / tally.asked < 0.7, "the questions are too alike"
    if PROOF:
        record("rbac-agreement", [f"- kube-apiserver {alone.version()}", *tally.lines()])


async def test_stock_roles_are_those_of_the_cluster(admin: Client) -> None:
    """Each exists with its labels and selectors; no rule of ours gives what theirs do not."""
    for role in bootstrap_roles():
        name = role.metadata.name
        status, stored = await admin.request("GET", f"/apis/{GROUP}/v1/clusterroles/{name}")
        assert status == 200, stored
        assert stored["metadata"]["labels"].items() >= (role.metadata.labels or {}).items()
        selectors = msgspec.to_builtins(role.aggregation_rule)
        assert stored.get("aggregationRule") == selectors, name
        theirs = _powers(msgspec.convert(stored["rules"] or [], list[PolicyRule]))
        assert _powers(role.rules or ()) <= theirs, name


def _powers(rules: Iterable[PolicyRule]) -> set[tuple[str, str, str]]:
    """Return each verb, group and resource that rules without names give."""
    return {
        power
        for rule in rules
        if not rule.resource_names
        for power in product(rule.verbs, rule.api_groups or (), rule.resources or ())
    }
