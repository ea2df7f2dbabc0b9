"""What policies saw of a request is kept, so that it can be judged again."""

import json
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import pytest

from admission.replay.evaluation import find_group_names, read_inputs
from audit.ledger.records.recorder import LedgerRecorder
from core.decision.decision import Decision
from core.decision.document import decode_document
from core.decision.request import Kind, Request
from core.people.subject import Subject, pseudonymous_group
from policies.bundle.format import read_bundle
from policies.engine.embedded_engine import EmbeddedEngine
from tests.harness.worlds.recorded_reviews import Frames
from tests.harness.worlds.replay_bundles import make_bundles
from tests.unit.admission.world import Folder, decide, judge_of, pod, request, update

CAROL = Subject("carol@example.com", groups=["researchers", "system:authenticated"])
DEPLOYMENT = Kind("Deployment", "v1", "apps")
SERVICE = Kind("Service", "v1")
LABELS = {"team": "vision"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEngine]:
    """A bundle whose rules read labels of Pods, Deployments and Services."""
    base, _ = make_bundles(tmp_path_factory.mktemp("site"))
    engine = EmbeddedEngine(read_bundle(base))
    yield engine
    engine.close()


def labelled(made: dict[str, Any]) -> dict[str, Any]:
    """Return an object with labels."""
    return made | {"metadata": {"name": "x", "labels": LABELS}}


def deployment() -> dict[str, Any]:
    """Return a Deployment with labels, also on its template."""
    return labelled({"spec": {"template": labelled(pod())}})


def seen(decision: Decision) -> tuple[Any, Any]:
    """Return the contexts and the fields that are kept."""
    evidence = decision.evidence
    return tuple(json.loads(each or b"null") for each in (evidence.context, evidence.fields))


async def test_of_a_pod_its_context_and_the_fields_that_rules_read(
    site: EmbeddedEngine, folder: Folder
) -> None:
    """Names of groups are no part of it: people name groups after themselves."""
    decision = await decide(folder.cluster(), site, request(labelled(pod()), CAROL))
    context, fields = seen(decision)
    assert context["operation"] == "CREATE"
    assert context["groups"] == [pseudonymous_group("researchers"), "system:authenticated"]
    assert b"researchers" not in decision.evidence.context
    assert fields == {
        "declared": {"Pod": ["metadata.labels"]},
        "parts": [{"metadata": {"labels": LABELS}}],
    }


async def test_without_rules_of_a_site_no_fields_are_kept(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The context is: a candidate's rules may read it."""
    context, fields = seen(await decide(folder.cluster(), engine, request(labelled(pod()))))
    assert (context["namespace"], fields) == ("train", None)


async def test_of_a_workload_each_template_and_the_object_itself(
    site: EmbeddedEngine, folder: Folder
) -> None:
    """In the order in which they are judged."""
    asked = request(deployment(), CAROL, kind=DEPLOYMENT)
    context, fields = seen(await decide(folder.cluster(), site, asked))
    assert len(context) == 2
    assert fields["declared"].keys() == {"Pod", "apps/Deployment"}
    assert (len(fields["parts"]), fields["object"]["metadata"]["labels"]) == (1, LABELS)


async def test_of_what_is_no_pod_its_own_fields(site: EmbeddedEngine, folder: Folder) -> None:
    """An update that leaves them as they were was not judged, and says so."""
    made = labelled({"spec": {"type": "ClusterIP"}})
    cluster = folder.cluster()
    _, fields = seen(await decide(cluster, site, request(made, kind=SERVICE)))
    assert fields["object"] == {"metadata": {"labels": LABELS}, "spec": {"type": "ClusterIP"}}
    context, fields = seen(await decide(cluster, site, update(made, made, kind=SERVICE)))
    assert (context, list(fields)) == (None, ["declared"])


async def test_it_is_stored_once_for_many_decisions(site: EmbeddedEngine, folder: Folder) -> None:
    """Beside the projections, by its digest."""
    spool = Frames()
    recorder = LedgerRecorder(spool, lambda: "c1", attrgetter("label"))
    judge = judge_of(folder.cluster(), site)
    for name in ("a", "b"):
        asked: Request = request(labelled(pod()), CAROL, name=name)
        decision = await judge.validate(asked, budget=10.0)
        recorder.record("validate", asked, decision, [], 0.001)
    assert [frame.kind for frame in spool.frames] == [2, 2, 2, 1, 1]
    first, second = (decode_document(frame.payload) for frame in spool.frames[3:])
    kept = {f"sha256:{frame.id.hex()}" for frame in spool.frames[:3]}
    assert kept == {first.projection, first.context, first.fields}
    assert (first.context, first.fields) == (second.context, second.fields)


async def test_what_a_rule_compares_groups_with_is_found_again(
    site: EmbeddedEngine, folder: Folder
) -> None:
    """By the texts of the candidate; a name that stands nowhere in it stays what it is."""
    evidence = (await decide(folder.cluster(), site, request(labelled(pod()), CAROL))).evidence
    names = find_group_names(['x := "researchers"\ny := `raw`'])
    inputs = read_inputs("Pod", evidence.projection, evidence.context, b"", names, asked=True)
    assert json.loads(inputs.contexts[0])["groups"] == ["researchers", "system:authenticated"]
    stays = read_inputs("Pod", evidence.projection, evidence.context, b"", {}, asked=True)
    assert json.loads(stays.contexts[0])["groups"][0] == pseudonymous_group("researchers")
