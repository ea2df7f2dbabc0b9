"""What `sallyport explain` says: what happened, and the smallest change that would change it."""

import shlex
from operator import attrgetter
from typing import Any

import msgspec

from admission.explain.explanation import Explanation, explain
from core.decision.document import DecisionDocument, build_document
from core.decision.request import Kind, Request
from core.people.subject import service_account_subject
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import ALICE, Folder, decide, pod, request


async def document_of(cluster: Any, engine: EmbeddedEngine, asked: Request) -> DecisionDocument:
    """Return the document of the decision on a request."""
    return build_document(
        "validate",
        asked,
        await decide(cluster, engine, asked),
        cluster="c1",
        seconds=0.001,
        name_subject=attrgetter("label"),
    )


def written(command: str) -> Any:
    """Return the object that a command pipes to kubectl."""
    echo, text, *rest = shlex.split(command)
    assert (echo, rest) == ("echo", ["|", "kubectl", "create", "-f", "-"])
    return msgspec.json.decode(text)


async def explained(folder: Folder, engine: EmbeddedEngine, asked: Request) -> Explanation:
    """Return the explanation of the decision on a request."""
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
    made, bound = grant.commands
    assert written(made) == {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "use-net", "namespace": "train"},
        "rules": [
            {
                "apiGroups": ["sallyport.dev"],
                "resources": ["containerprofiles"],
                "resourceNames": ["net"],
                "verbs": ["use"],
            }
        ],
    }
    assert bound == "kubectl create rolebinding use-net -n train --role=use-net --user=USER"


async def test_a_right_for_a_service_account_names_it(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """It names no one, so the command is whole."""
    account = service_account_subject("train", "trainer")
    folder.profile("net", 60, "host/network", includes="pss-restricted")
    explanation = await explained(folder, engine, request(pod(hostNetwork=True), account))
    command = explanation.changes[-1].commands[-1]
    assert command.endswith("--role=use-net --serviceaccount=train:trainer")


async def test_an_admission_needs_no_change(engine: EmbeddedEngine, folder: Folder) -> None:
    """It says under which profile."""
    explanation = await explained(folder, engine, request(pod()))
    assert explanation.headline == ("Admitted: Pod train/llama-0 under the profile pss-restricted.")
    assert explanation.changes == []


async def test_what_is_in_no_namespace_needs_the_right_in_all(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """So the commands make a ClusterRole and bind it in the cluster; the refusal says it too."""
    folder.documents.clear()
    folder.profile("disks", 60, "storage-class/**").profile("bare", 1)
    folder.grant(f"User:{ALICE.username}", "bare")
    folder.grant(f"User:{ALICE.username}", "disks", namespace="train")
    made = {"metadata": {"name": "x"}, "provisioner": "disk.csi.azure.com"}
    kind = Kind("StorageClass", "v1", "storage.k8s.io")
    asked = request(made, kind=kind, namespace="", name="x")
    explanation = await explained(folder, engine, asked)
    assert explanation.headline.startswith("Refused: StorageClass x: ")
    assert [answer.namespace for answer in explanation.decision.access_reviews][:1] == [""]
    grant = next(change for change in explanation.changes if change.commands)
    assert grant.what == (
        "ask for the right to use the profile disks in all namespaces, "
        f"for who asked ({ALICE.label})."
    )
    role, bound = grant.commands
    assert written(role)["kind"] == "ClusterRole"
    assert written(role)["metadata"] == {"name": "use-disks"}
    assert (
        bound == "kubectl create clusterrolebinding use-disks --clusterrole=use-disks --user=USER"
    )
    message = (await decide(folder.cluster(), engine, asked)).message
    assert "that you may not have in all namespaces." in message.splitlines()[0]
    assert "Or ask for the right to use disks" in message
    assert " in all namespaces: by a ClusterRoleBinding.\n" in message


async def test_what_came_after_the_profile_is_no_refusal(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Admitted, with what to do before the profile is raised; nobody lacks a right."""
    folder.documents.clear()
    folder.profile("old", 1).grant(f"User:{ALICE.username}", "old")
    folder.documents[0]["spec"]["catalogue"] = 1
    made = pod(shareProcessNamespace=True)
    explanation = await explained(folder, engine, request(made))
    assert explanation.headline == (
        "Admitted: Pod train/llama-0 under the profile old, which is written for an older "
        "catalogue and does not cover 1 privilege that came later."
    )
    own, cover = explanation.changes
    assert own.what == "change this field, before the profile old is brought up to date:"
    assert [field.path for field in own.fields] == ["spec.shareProcessNamespace"]
    assert cover.what == "cover it in the profile old, and raise its spec.catalogue."
    folder.namespace("train", mode="warn")
    again = await explained(folder, engine, request(made))
    assert (again.headline, again.changes) == (explanation.headline, explanation.changes)
    refused = await explained(folder, engine, request(pod(hostNetwork=True)))
    assert refused.headline.startswith("Admitted, since the mode is warn: ")


async def test_what_nobody_may_have_must_go(engine: EmbeddedEngine, folder: Folder) -> None:
    """Alone, or before what a profile could cover."""
    annotations = {"dev.gvisor.flag.debug": "true"}
    (change,) = (await explained(folder, engine, request(pod(annotations=annotations)))).changes
    assert (change.what, change.who) == ("take away what nobody may have:", "author")
    assert [field.remedy for field in change.fields] == [
        engine.rules["rules/runtime/annotations"].remedy
    ]
    made = pod(annotations=annotations, hostNetwork=True)
    first, second, *_ = (await explained(folder, engine, request(made))).changes
    assert first == change
    assert [field.path for field in second.fields] == ["spec.hostNetwork"]
