"""What is read first where nobody was refused: errors, what runs, changes on the way."""

import msgspec
import pytest

from admission.explain.explanation import explain
from core.people.subject import service_account_subject
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.explain.test_explanations import document_of
from tests.unit.admission.explain.test_first_advice import explained
from tests.unit.admission.world import (
    Folder,
    pod,
    request,
)


async def test_error_is_no_denial(engine: EmbeddedEngine, folder: Folder) -> None:
    """The first words say so, and what to do is to try again; of what runs, to wait."""
    cluster = Watched(folder.cluster(), fails=frozenset("*"))
    document = await document_of(cluster, engine, request(pod()))
    explanation = explain(document)
    assert explanation.headline == "Not judged: Pod train/llama-0 (refused, and not a denial)."
    assert explanation.changes[0].what.startswith("try again; if it stays, ask an operator: ")
    swept = explain(msgspec.structs.replace(document, source="sweep"))
    assert swept.headline == "Not judged: Pod train/llama-0 (it runs all the same)."
    assert swept.changes[0].what.startswith("wait for the next sweep; if it stays, ")


@pytest.mark.parametrize(
    ("made", "path"), [({"spec": {"containers": 5}}, "spec.containers"), (b"[]", "Pod")]
)
async def test_broken_manifest(
    engine: EmbeddedEngine, folder: Folder, made: object, path: str
) -> None:
    """It is the author's to mend; to try again would not help."""
    (change,) = (await explained(folder, engine, request(made))).changes
    assert (change.what, change.who) == ("correct the manifest:", "author")
    (field,) = change.fields
    assert (field.path, field.remedy.startswith("Expected ")) == (path, True)


async def test_what_runs_is_made_anew(engine: EmbeddedEngine, folder: Folder) -> None:
    """It was not refused, and its fields cannot be changed in place."""
    folder.grant("ServiceAccount:train/default", "pss-restricted")
    account = service_account_subject("train", "default")
    running = msgspec.structs.replace(request(pod(hostNetwork=True), account), running=True)
    explanation = await explained(folder, engine, running, "sweep")
    assert explanation.headline.startswith("Runs, and would be refused: Pod train/llama-0: ")
    assert explanation.changes[0].what.startswith(
        "before it is made anew, change this field; then pss-restricted, "
    )
    fine = msgspec.structs.replace(request(pod(), account), running=True)
    headline = (await explained(folder, engine, fine, "sweep")).headline
    assert headline.startswith("Runs, and would be admitted: Pod train/llama-0 under ")


async def test_changes_on_the_way_are_left_to_the_validating_webhook(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The mutating webhook admits what it would refuse."""
    document = await document_of(folder.cluster(), engine, request(pod(hostNetwork=True)))
    mutated = msgspec.structs.replace(document, source="mutate", allowed=True)
    assert explain(mutated).headline.startswith("Left to the validating webhook to refuse: ")
