"""What `sallyport explain` says: what happened, and the smallest change that would change it."""

from operator import attrgetter
from typing import Any

from admission.explain import Explanation, explain
from core.decision import Verdict
from core.document import DecisionDocument
from core.making import make_document
from core.request import Request
from core.subject import Subject, service_account
from policies.engine.embedded import EmbeddedEngine
from tests.unit.admission.world import ALICE, BOB, Folder, Watched, decide, judge_of, pod, request


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


async def test_a_named_profile_can_be_taken_away(engine: EmbeddedEngine, folder: Folder) -> None:
    """One that does not exist: the annotation is what is wrong."""
    made = pod(annotations={"sallyport.dev/profile": "gone"})
    explanation = await explained(folder, engine, request(made))
    path = "metadata.annotations[sallyport.dev/profile]"
    assert explanation.changes[0].what.startswith(f"take away {path} (it names gone)")


async def test_an_error_is_no_denial(engine: EmbeddedEngine, folder: Folder) -> None:
    """The first words say so, and what to do is to try again."""
    cluster = Watched(folder.cluster(), fails=frozenset("*"))
    explanation = explain(await document_of(cluster, engine, request(pod())))
    assert explanation.headline == "Not judged: Pod train/llama-0 (refused, and not a denial)."
    assert explanation.changes[0].what.startswith("Try again; if it stays, ask an operator.")


async def test_a_broken_manifest_names_the_field(engine: EmbeddedEngine, folder: Folder) -> None:
    """It is the author's to mend."""
    explanation = await explained(folder, engine, request({"spec": {"containers": 5}}))
    (change,) = explanation.changes
    assert (change.who, change.fields[0].path) == ("author", "spec.containers")


async def test_an_admission_needs_no_change(engine: EmbeddedEngine, folder: Folder) -> None:
    """It says under which profile."""
    explanation = await explained(folder, engine, request(pod()))
    assert explanation.headline == ("Admitted: Pod train/llama-0 under the profile pss-restricted.")
    assert explanation.changes == []


async def test_a_recorded_decision_is_judged_again_for_another(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """By what was recorded that it needs, and the rights of now."""
    folder.profile("net", 60, "host/network", includes="pss-restricted")
    folder.grant(f"User:{BOB.username}", "net")
    cluster = folder.cluster()
    document = await document_of(cluster, engine, request(pod(hostNetwork=True)))
    judge = judge_of(cluster, engine)
    for subject, verdict in ((ALICE, Verdict.DENY), (BOB, Verdict.ALLOW)):
        _, decision = await judge.again(document, subject, budget=5.0)
        assert decision.verdict is verdict


async def test_service_accounts_still_count_when_judged_again(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A workload's Pod needs its service account's right too, whoever asks."""
    folder.profile("net", 60, "host/network", includes="pss-restricted")
    folder.grant(f"User:{BOB.username}", "net")
    cluster = folder.cluster()
    made = pod(hostNetwork=True, owner=("batch/v1", "Job"))
    document = await document_of(cluster, engine, request(made, Subject("operator")))
    _, decision = await judge_of(cluster, engine).again(document, BOB, budget=5.0)
    assert decision.verdict is Verdict.DENY
    assert decision.evidence.subjects == (BOB, service_account("train", "default"))
