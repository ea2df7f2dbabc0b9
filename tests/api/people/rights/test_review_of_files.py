"""`sallyport review` of roles, bindings and service accounts says what the gate says of them."""

from pathlib import Path

import pytest
import yaml

from app.settings.root import Settings
from cli.review.run import review
from cli.shared.manifests import ReviewTerms
from cli.shared.results import Result
from core.decision.decision import Verdict
from core.people.subject import Subject
from tests.api.people.rights.people import (
    ADMINISTRATOR,
    MAKERS,
    MANAGER,
    RESEARCHER,
    TEAM,
    Givers,
    address,
    bound,
    rights,
)
from tests.api.people.rights.tries import READER, TRIES, Try
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Json, Outcome
from tests.harness.worlds.rbac import group, user

STOCK = ("cluster-admin", "admin", "edit", "view")
COLLEAGUE = user("colleague@example.com")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The cluster's rights, written down."""
    return _written(tmp_path / "cluster" / "rights.yaml", *rights()).parent


def _written(path: Path, *items: Json) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump_all([dict(each) for each in items]))
    return path


async def reviewed(settings: Settings, name: str, file: Path) -> Result:
    """Return what review says of the last object in a file, which this person submits."""
    someone = Subject(address(name), groups=[MAKERS, "system:authenticated"])
    report = await review(settings, [str(file)], ReviewTerms(subject=someone))
    return report.results[-1]


@pytest.mark.parametrize("tried", TRIES, ids=lambda tried: tried.name)
async def test_files_are_judged_as_the_gate_judges(
    givers: Givers, folder: Path, tmp_path: Path, tried: Try
) -> None:
    """Same verdict, without a cluster, for who may not, may some and may all; the same privilege.

    The Role that a binding gives stands in the files. Roles of kube-apiserver that nobody binds
    to people are unknown without a cluster: refused all the same.
    """
    file = _written(tmp_path / "tried.yaml", READER, tried.item)
    for name in (RESEARCHER, MANAGER, ADMINISTRATOR):
        client = getattr(givers, name)
        answer = await client.dry_run(tried.item)
        result = await reviewed(Settings(cluster=folder), name, file)
        allowed = result.verdict is Verdict.ALLOW
        if tried.name != "nodes":
            assert allowed is (answer.outcome is Outcome.ALLOWED), (name, answer.body)
            assert tried.privilege in result.needs or name == ADMINISTRATOR
        elif name == RESEARCHER:
            assert not allowed
            assert "neither among the files" in "".join(result.element.notes)


@pytest.mark.parametrize("name", STOCK)
async def test_stock_roles_need_the_same_without_a_cluster(
    asked: ApiServer, folder: Path, tmp_path: Path, name: str
) -> None:
    """Each privilege that a binding of the cluster's own ClusterRole needs, and no other."""
    for namespace in (TEAM, None):
        item = bound(name, COLLEAGUE, group("researchers"), namespace=namespace)
        file = _written(tmp_path / "bound.yaml", item)
        without = await reviewed(Settings(cluster=folder), RESEARCHER, file)
        live = await reviewed(Settings(kubeconfig=asked.kubeconfig()), RESEARCHER, file)
        assert without.needs == live.needs
        assert (without.verdict, without.element.notes) == (live.verdict, live.element.notes)
