"""What `sallyport explain` says: what happened, and the smallest change that would change it."""

from operator import attrgetter
from typing import Any

from admission.explain import Explanation, explain
from core.document import DecisionDocument
from core.making import make_document
from core.request import Request
from core.subject import service_account
from policies.engine.embedded import EmbeddedEngine
from tests.unit.admission.world import ALICE, Folder, decide, pod, request


async def document_of(cluster: Any, engine: EmbeddedEngine, asked: Request) -> DecisionDocument:
    """Give the document of the decision on a request."""
    return make_document(
        "validate",
        asked,
        await decide(cluster, engine, asked),
        cluster="c1",
        seconds=0.001,
        name_subject=attrgetter("label"),
    )


async def explained(folder: Folder, engine: EmbeddedEngine, asked: Request) -> Explanation:
    """Give the explanation of the decision on a request."""
    return explain(await document_of(folder.cluster(), engine, asked))


async def test_one_field_is_named_with_its_remedy(engine: EmbeddedEngine, folder: Folder) -> None:
    """The profile that then covers it is one that may be used."""
    folder.profile("net", 60, "host/network", includes="pss-restricted")
    explanation = await explained(folder, engine, request(pod(hostNetwork=True)))
    assert explanation.headline == (
        "Refused: Pod train/llama-0: spec.hostNetwork shares the network of the node."
    )
    change, grant = explanation.changes
    assert change.what == (
        "change this field; then pss-restricted, a profile that may be used here, covers all:"
    )
    assert [(field.path, field.remedy) for field in change.fields] == [
        ("spec.hostNetwork", engine.rules["privileges/host/network"].remedy)
    ]
    assert (change.size, change.who, grant.who, grant.profile) == (
        1,
        "author",
        "administrator",
        "net",
    )


async def test_the_smallest_change_comes_first(engine: EmbeddedEngine, folder: Folder) -> None:
    """One field for one profile, two for another; three, these among them, are left out."""
    folder.profile("host", 150, "host/network", "host/pid", includes="pss-restricted")
    folder.profile("ipc", 160, "host/ipc", includes="pss-restricted")
    folder.grant(f"User:{ALICE.username}", "host", "ipc")
    made = pod(hostNetwork=True, hostPID=True, hostIPC=True)
    explanation = await explained(folder, engine, request(made))
    own = [change for change in explanation.changes if change.who == "author"]
    assert [(change.profile, change.size) for change in own] == [("host", 1), ("ipc", 2)]


async def test_a_right_is_proposed_for_the_least_profile(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """With the commands that give it; a person's pseudonym is no name to type."""
    folder.profile("net", 60, "host/network", includes="pss-restricted")
    explanation = await explained(folder, engine, request(pod(hostNetwork=True)))
    grant = explanation.changes[-1]
    assert grant.what == (
        f"ask for the right to use the profile net in namespace train, "
        f"for who asked ({ALICE.label})."
    )
    assert grant.commands == [
        "kubectl create role use-net -n train --verb=use "
        "--resource=containerprofiles.sallyport.dev --resource-name=net",
        "kubectl create rolebinding use-net -n train --role=use-net --user=USER",
    ]


async def test_a_right_for_a_service_account_names_it(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """It names no one, so the command is whole."""
    account = service_account("train", "trainer")
    folder.profile("net", 60, "host/network", includes="pss-restricted")
    explanation = await explained(folder, engine, request(pod(hostNetwork=True), account))
    command = explanation.changes[-1].commands[-1]
    assert command.endswith("--role=use-net --serviceaccount=train:trainer")


async def test_an_admission_needs_no_change(engine: EmbeddedEngine, folder: Folder) -> None:
    """It says under which profile."""
    explanation = await explained(folder, engine, request(pod()))
    assert explanation.headline == ("Admitted: Pod train/llama-0 under the profile pss-restricted.")
    assert explanation.changes == []
