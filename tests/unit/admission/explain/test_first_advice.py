"""What a refused person reads first, in each way to be refused: what happened, what to do."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from admission.explain.changes import Change, changes_of
from admission.explain.explanation import Explanation, explain
from core.decision.decision import Action, Finding, Verdict
from core.decision.document import FORMAT, Asked, DecisionDocument, DecisionSource
from core.decision.request import Request
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.explain.test_explanations import document_of
from tests.unit.admission.world import ADMIN, ALICE, NAMESPACE, Folder, pod, request

PATH = "metadata.annotations[sallyport.dev/profile]"


def naming(name: str, **more: Any) -> dict[str, Any]:
    """Return a Pod that names a profile."""
    return pod(annotations={"sallyport.dev/profile": name}, **more)


def refusal(*findings: Finding) -> DecisionDocument:
    """Return the record of a refused Pod for which no profile was tried."""
    return DecisionDocument(
        format=FORMAT,
        id="1",
        time="2026-11-26T00:00:00.000Z",
        cluster="c",
        source="validate",
        request=Asked("", "CREATE", "Pod", "v1", name="llama-0", namespace="train"),
        requester="somebody",
        verdict=Verdict.DENY,
        allowed=False,
        findings=list(findings),
    )


async def explained(
    folder: Folder, engine: EmbeddedEngine, asked: Request, source: DecisionSource = "validate"
) -> Explanation:
    """Return the explanation of the decision on a request."""
    document = await document_of(folder.cluster(), engine, asked)
    return explain(msgspec.structs.replace(document, source=source))


def told(changes: list[Change]) -> list[tuple[str, str, list[str]]]:
    """Return what each change says, who makes it, and in which fields."""
    return [(each.what, each.who, [field.path for field in each.fields]) for each in changes]


async def test_named_profile_that_is_missing(engine: EmbeddedEngine, folder: Folder) -> None:
    """Without another name nothing can help."""
    explanation = await explained(folder, engine, request(naming("nosuch")))
    assert explanation.headline == (
        f"Refused: Pod train/llama-0: {PATH}: there is no ContainerProfile nosuch."
    )
    what = f"take away {PATH} (it names nosuch), or name another profile there"
    assert told(explanation.changes) == [
        (f"{what}: another profile may be chosen then.", "author", [])
    ]


async def test_named_profile_outside_the_ceiling(engine: EmbeddedEngine, folder: Folder) -> None:
    """Another name, or a wider ceiling; which privileges are needed is said."""
    folder.namespace("train", ceiling="pss-restricted").profile("net", 60, "host/network")
    made = request(naming("net", hostNetwork=True))
    first, second = (await explained(folder, engine, made)).changes
    then = "another profile may be chosen then, if one covers host/network."
    assert first.what == (f"take away {PATH} (it names net), or name another profile there: {then}")
    assert (second.who, second.what) == (
        "administrator",
        "ask an administrator to widen the ceiling of namespace train (sallyport.dev/ceiling), "
        f"which leaves pss-restricted: {then}",
    )


async def test_named_profile_that_may_not_be_used(engine: EmbeddedEngine, folder: Folder) -> None:
    """The right to it surely helps; whether another name does is not on record."""
    folder.profile("net", 60, "host/network", includes="pss-restricted")
    made = request(naming("net", hostNetwork=True))
    first, second = (await explained(folder, engine, made)).changes
    assert first.what.startswith("ask for the right to use the profile net in namespace train")
    assert (first.who, len(first.commands)) == ("administrator", 2)
    assert second.what.startswith(f"take away {PATH}")


async def test_named_profile_that_lacks_something(engine: EmbeddedEngine, folder: Folder) -> None:
    """Nobody asked whether it may be used, so no right to it is proposed."""
    folder.profile("rdma", 60, "capability/IPC_LOCK", includes="pss-restricted")
    folder.grant(f"User:{ALICE.username}", "rdma")
    made = naming("rdma", add=["IPC_LOCK", "SYS_ADMIN"])
    first, second = (await explained(folder, engine, request(made))).changes
    assert told([first]) == [
        (
            "change this field; then rdma covers all, if it may be used:",
            "author",
            ["spec.containers[0].securityContext.capabilities.add[1]"],
        )
    ]
    assert second.what.startswith(f"take away {PATH} (it names rdma)")
    assert [*first.commands, *second.commands] == []


async def test_changing_what_the_named_profile_lacks_is_enough(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The first advice, followed; the same Pod without the name would be refused still."""
    folder.profile("rdma", 60, "capability/IPC_LOCK", includes="pss-restricted")
    folder.grant(f"User:{ALICE.username}", "rdma")
    followed = await explained(folder, engine, request(naming("rdma", add=["IPC_LOCK"])))
    unnamed = await explained(folder, engine, request(pod(add=["IPC_LOCK", "SYS_ADMIN"])))
    assert followed.headline.startswith("Admitted: ")
    assert unnamed.headline.startswith("Refused: ")


@pytest.mark.parametrize("privileges", [1, 2])
async def test_headline_counts_what_the_named_profile_lacks(
    engine: EmbeddedEngine, folder: Folder, privileges: int
) -> None:
    """In the singular too: two containers' one privilege is one."""
    made = naming("pss-restricted", hostNetwork=True, hostPID=True)
    if privileges == 1:
        made = naming("pss-restricted", add=["SYS_ADMIN"])
        made["spec"]["initContainers"] = [made["spec"]["containers"][0] | {"name": "first"}]
    explanation = await explained(folder, engine, request(made))
    word = "1 privilege" if privileges == 1 else "2 privileges"
    assert explanation.headline == (
        f"Refused: Pod train/llama-0: it needs {word} "
        "that the profile pss-restricted does not cover."
    )


async def test_one_privilege_at_two_places_is_one(engine: EmbeddedEngine, folder: Folder) -> None:
    """Of no named profile either."""
    made = pod(add=["SYS_ADMIN"])
    made["spec"]["initContainers"] = [made["spec"]["containers"][0] | {"name": "first"}]
    explanation = await explained(folder, engine, request(made))
    assert explanation.headline.endswith("it needs 1 privilege without a right to it here.")
    assert explanation.changes[0].what.startswith("change these 2 fields; then pss-restricted, ")


async def test_profile_that_the_namespace_names(engine: EmbeddedEngine, folder: Folder) -> None:
    """A researcher cannot change the namespace; the Pod's own word counts before it."""
    folder.namespace("train", profile="nosuch")
    explanation = await explained(folder, engine, request(pod()))
    assert explanation.headline == (
        f"Refused: Pod train/llama-0: {PATH} of Namespace train: "
        "there is no ContainerProfile nosuch."
    )
    (change,) = explanation.changes
    assert change.what == (
        f"name a profile in the Pod itself ({PATH}), which counts before nosuch, "
        "the one that its namespace names: another profile may be chosen then."
    )
    followed = await explained(folder, engine, request(naming("pss-restricted")))
    assert followed.headline.startswith("Admitted: ")


async def test_ceiling_that_no_covering_profile_is_within(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """No right helps an operator either: fewer needs do, or a wider ceiling may."""
    folder.namespace("train", ceiling="pss-restricted").grant("Group:system:masters")
    explanation = await explained(folder, engine, request(pod(hostNetwork=True), ADMIN))
    first, second = explanation.changes
    assert [field.path for field in first.fields] == ["spec.hostNetwork"]
    assert second.what.startswith("ask an administrator to widen the ceiling of namespace train")
    assert [*first.commands, *second.commands] == []


@pytest.mark.parametrize("spec", [{}, {"hostNetwork": True}])
async def test_ceiling_that_leaves_nothing(
    engine: EmbeddedEngine, folder: Folder, spec: Mapping[str, Any]
) -> None:
    """No field of the Pod is at fault."""
    folder.namespace("train", ceiling="")
    (change,) = (await explained(folder, engine, request(pod(**spec)))).changes
    assert change.fields == []
    assert "(sallyport.dev/ceiling), which leaves no profile: " in change.what


async def test_no_profile_that_covers_may_be_used_nor_any_other(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The closest one: what it lacks, and the right to it, both at once."""
    folder.documents.clear()
    folder.namespace("train", ceiling="pss-restricted")
    first, second = (await explained(folder, engine, request(pod(hostNetwork=True)))).changes
    assert first.what.startswith(
        "change this field, and ask for the right to use the profile pss-restricted"
    )
    assert ([field.path for field in first.fields], len(first.commands)) == (
        ["spec.hostNetwork"],
        2,
    )
    assert second.what.startswith("ask an administrator to widen the ceiling")


async def test_no_right_at_all(engine: EmbeddedEngine, folder: Folder) -> None:
    """It needs nothing, so the profile that gives least is the one to ask for."""
    folder.documents.clear()
    (change,) = (await explained(folder, engine, request(pod()))).changes
    assert change.what.startswith("ask for the right to use the profile pss-restricted")


async def test_nobody_was_asked(engine: EmbeddedEngine, folder: Folder) -> None:
    """A namespace that only audits saves the questions: a right is not denied, it is unknown."""
    folder.namespace("train", mode="audit", ceiling="pss-restricted")
    explanation = await explained(folder, engine, request(pod(hostNetwork=True)))
    assert explanation.headline == (
        "Admitted, since the mode is audit: Pod train/llama-0: "
        "spec.hostNetwork shares the network of the node."
    )
    assert explanation.changes[0].what == (
        "change this field; then pss-restricted covers all, if it may be used:"
    )
    assert all(not change.commands for change in explanation.changes)


async def test_warned_is_told_as_refused(engine: EmbeddedEngine, folder: Folder) -> None:
    """What to do is the same."""
    enforced = await explained(folder, engine, request(pod(hostNetwork=True)))
    folder.namespace("train", mode="warn")
    warned = await explained(folder, engine, request(pod(hostNetwork=True)))
    assert warned.headline.startswith("Admitted, since the mode is warn: Pod train/llama-0: spec.")
    assert warned.changes == enforced.changes


async def test_too_many_privileges(engine: EmbeddedEngine, folder: Folder) -> None:
    """No profile is in question, named or not."""
    ports = [{"containerPort": port, "hostPort": port} for port in range(1, 300)]
    made = naming("nosuch")
    made["spec"]["containers"][0]["ports"] = ports
    (change,) = (await explained(folder, engine, request(made))).changes
    assert change.what == (
        "split the Pod, or take away what needs them (ports of the node, capabilities, sysctls)."
    )


@pytest.mark.parametrize("count", [1, 2])
async def test_marks_of_a_namespace(engine: EmbeddedEngine, folder: Folder, count: int) -> None:
    """Each is named, with whom to ask."""
    labels = {"sallyport.dev/mode": "audit", "control-plane": "true"}
    marked = {"metadata": {"name": "train", "labels": dict([*labels.items()][:count])}}
    asked = request(marked, kind=NAMESPACE, namespace="train", name="train")
    explanation = await explained(folder, engine, asked)
    what = "sets, changes or removes a mark that decides how the namespace is guarded"
    path, more = ("[sallyport.dev/mode]", "") if count == 1 else ("[control-plane]", ", and 1 more")
    assert explanation.headline.endswith(f"metadata.labels{path}: {what}{more}.")
    (change,) = explanation.changes
    word = "this mark" if count == 1 else "these 2 marks"
    assert (change.what, len(change.fields)) == (f"leave {word} as before:", count)
    assert change.fields[0].remedy.endswith("ask someone who may exempt namespaces to set it.")


async def test_subjects_that_were_not_asked_are_named(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The questions end at the first no: who comes after may lack the right as well."""
    folder.profile("net", 60, "host/network", includes="pss-restricted")
    made = pod(hostNetwork=True, owner=("batch/v1", "Job"))
    explanation = await explained(folder, engine, request(made))
    grant = next(change for change in explanation.changes if change.commands)
    assert grant.what.endswith("; service account train:default may lack it too.")


async def test_refusal_that_no_profile_mends_asks_for_no_profile(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A required sandbox that the cluster does not have is put right as its own remedy says."""
    folder.grant(f"User:{ALICE.username}", "pss-restricted")
    folder.documents.append(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "train", "labels": {"sallyport.dev/sandbox": "required"}},
        }
    )
    explanation = await explained(folder, engine, request(pod()))
    (change,) = explanation.changes
    assert (change.what, change.who) == ("put right what no profile covers:", "author")
    assert change.profile is None
    assert [each.path for each in change.fields] == ["spec.runtimeClassName"]


@pytest.mark.parametrize("rule", ["weights/grant", "guards/expiry", "notes/owner-gone"])
def test_no_rule_without_a_privilege_is_mended_by_a_profile(rule: str) -> None:
    """Alone it proposes none; beside a privilege it is named before any."""
    finding = Finding(rule, Action.DENY, "spec.volumes[0]", "is wrong", "Ask for it.")
    (alone,) = changes_of(refusal(finding))
    assert (alone.profile, alone.fields[0].remedy) == (None, "Ask for it.")
    needed = Finding(
        "privileges/host/network", Action.DENY, "spec.hostNetwork", "on", "Off.", "host/network"
    )
    first, *_ = changes_of(refusal(needed, finding))
    assert (first.profile, [each.path for each in first.fields]) == (None, ["spec.volumes[0]"])
