"""A decision goes to logs, audit and evidence: no person's name is in it, whatever happens."""

from operator import attrgetter
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.decision import Evidence
from core.document import encode_document
from core.making import make_document
from core.subject import Subject
from kube.folder import FolderCluster, read_profiles
from policies import SHIPPED_PROFILES
from policies.engine.embedded import EmbeddedEngine
from tests.unit.admission.watched import Watched
from tests.unit.admission.world import (
    NAMESPACE,
    decide,
    judge_of,
    pod,
    request,
    update,
)

LABEL = attrgetter("label")
CANARY = "canary-7d1e"
CLUSTER = FolderCluster(None, shipped=read_profiles([SHIPPED_PROFILES]))
ASKED: list[tuple[object, dict[str, Any]]] = [
    (pod(), {}),
    (pod(hostNetwork=True), {}),
    (pod(owner=("batch/v1", "Job"), hostNetwork=True), {}),
    (pod(annotations={"sallyport.dev/profile": "gone"}), {}),
    (pod(annotations={"sallyport.dev/profile": "pss-baseline"}), {}),
    (pod(hostNetwork=True), {"asked_profile": "pss-restricted"}),
    ({"spec": 1}, {}),
    ({"metadata": {"labels": {"sallyport.dev/mode": "audit"}}}, {"kind": NAMESPACE, "name": "a"}),
]
NAMES = st.text(max_size=10).map(lambda text: f"{CANARY}{text}")
SUBJECTS = st.builds(
    Subject,
    NAMES | NAMES.map(lambda name: f"{name}@example.com"),
    NAMES,
    st.lists(NAMES | st.just("system:masters"), max_size=2),
    st.dictionaries(NAMES | st.just("oid"), st.lists(NAMES, max_size=2), max_size=2),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(subject=SUBJECTS, case=st.sampled_from(ASKED), fails=st.booleans())
async def test_no_persons_name_is_in_a_decision(
    engine: EmbeddedEngine, subject: Subject, case: tuple[object, dict[str, Any]], *, fails: bool
) -> None:
    """User name, uid, groups and extra: none of it, allowed, denied or not judged."""
    made, more = case
    cluster = Watched(CLUSTER, fails=frozenset("*") if fails else frozenset())
    judge = judge_of(cluster, engine)
    asked = request(made, subject, **more)
    for decision in (
        await judge.validate(asked, budget=5.0),
        await judge.mutate(asked, budget=5.0),
    ):
        answered = msgspec.structs.replace(decision, evidence=Evidence())
        assert CANARY not in msgspec.json.encode(answered).decode()
        assert CANARY not in repr(decision)
        document = make_document(
            "validate", asked, decision, cluster="c", seconds=0.1, name_subject=LABEL
        )
        assert CANARY not in encode_document(document).decode()


@pytest.mark.parametrize("name", ["alice@example.com", "Alice Example", "eve"])
async def test_person_is_known_by_a_label(engine: EmbeddedEngine, name: str) -> None:
    """The decision names the subject so that it can be found again, and nobody else can read it."""
    decision = await decide(CLUSTER, engine, update(pod(image="b"), pod(), Subject(name)))
    assert decision.subjects == [Subject(name).label]
    assert name not in repr(decision)
