"""Who a Pod may be on a file system that others mount, and what is filled in from given IDs."""

from typing import Any

import msgspec
import pytest

from admission.judge import Judge
from core.decision.decision import Verdict
from core.decision.request import Kind, Phase
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.profiles.both_passes import mutated, with_defaults
from tests.unit.admission.world import NAMESPACE, PULLS, Folder, judge_of, pod, request

IDS = ["runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy"]
RANGE = "1000680000/10000"
FIRST = 1000680000
CONTEXT: dict[str, Any] = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def volume(name: str, claim: str = "", **source: Any) -> dict[str, Any]:
    """Return a PersistentVolume, kept for a claim of train where one is named."""
    kept = {"claimRef": {"namespace": "train", "name": claim}} if claim else {}
    spec = {"accessModes": ["ReadWriteMany"], **kept, **source}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": spec,
    }


NFS: dict[str, Any] = {"nfs": {"server": "nfs.example", "path": "/research"}}


def mounting(claim: str = "data", name: str = "", **context: Any) -> dict[str, Any]:
    """Return a Pod that needs nothing else, and mounts a claim."""
    made = pod(
        securityContext={**CONTEXT, **context},
        volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
    )
    mounts = [{"name": "data", "mountPath": "/data"}]
    made["spec"]["containers"][0]["volumeMounts"] = mounts
    return made


@pytest.fixture
def place(folder: Folder) -> Folder:
    """A namespace with a claim of NFS and one of a disk; everyone may use two profiles."""
    return with_claims(folder)


def with_claims(folder: Folder) -> Folder:
    """Make the same."""
    folder.namespace("train", mode="enforce", ceiling="plain,filling")
    folder.documents += [
        volume("nfs", "data", **NFS),
        volume("disk", "disk", csi={"driver": "disk.csi.azure.com"}, accessModes=["ReadWriteOnce"]),
    ]
    folder.profile("plain", 900, "capability/NET_BIND_SERVICE", catalogue=4)
    folder.grant("Group:system:authenticated", "plain")
    with_defaults(folder, "filling", 5, "limits/unset/cpu", namespaceIds=IDS)
    folder.documents[_profile_of(folder, "filling")]["spec"]["catalogue"] = 4
    return folder


def _profile_of(folder: Folder, name: str) -> int:
    return next(
        index
        for index, each in enumerate(folder.documents)
        if each["kind"] == "ContainerProfile" and each["metadata"]["name"] == name
    )


def with_ranges(folder: Folder, users: str | None = RANGE, groups: str | None = None) -> Folder:
    """Give the namespace IDs."""
    (found,) = (each for each in folder.documents if each["kind"] == "Namespace")
    given = {"sallyport.dev/uid-range": users, "sallyport.dev/supplemental-groups": groups}
    marks = {key: value for key, value in given.items() if value is not None}
    found["metadata"].setdefault("annotations", {}).update(marks)
    return folder


async def needs(judge: Judge, made: dict[str, Any]) -> set[str]:
    """Return what the validating pass says that a Pod needs besides its image."""
    decision = await judge.validate(request(made, phase=Phase.VALIDATING), budget=5.0)
    return {each.privilege for each in decision.evidence.needs} - {PULLS}


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ({"supplementalGroups": [0]}, ["shared-volume/group/0"]),
        ({"fsGroup": 100}, ["shared-volume/group/100"]),
        ({"runAsGroup": 999}, ["shared-volume/group/999"]),
        ({"runAsUser": 0}, ["run-as/root-in-user-namespace", "shared-volume/user/0"]),
        (
            {"runAsNonRoot": None},
            ["run-as/any-in-user-namespace", "shared-volume/user/any"],
        ),
        ({"runAsUser": 1000, "fsGroup": 1000, "supplementalGroups": [1000]}, []),
    ],
    ids=str,
)
async def test_root_and_groups_of_the_system_are_privileges(
    engine: EmbeddedEngine, place: Folder, context: dict[str, Any], expected: list[str]
) -> None:
    """On what a claim is bound to; the same on a disk needs nothing of it."""
    judge = judge_of(place.cluster(), engine)
    assert await needs(judge, mounting(**context)) == set(expected)
    alone = {each for each in expected if not each.startswith("shared-volume/")}
    assert await needs(judge, mounting("disk", **context)) == alone


async def test_a_claim_that_is_not_bound_counts_where_it_could_get_a_shared_volume(
    engine: EmbeddedEngine, place: Folder
) -> None:
    """Else a Pod that is made before its claim would escape; an ephemeral volume is one, too."""
    later = mounting("later", supplementalGroups=[0])
    assert await needs(judge_of(place.cluster(), engine), later) == set()
    place.documents.append(volume("nobodys", **NFS))
    judge = judge_of(place.cluster(), engine)
    assert await needs(judge, later) == {"shared-volume/group/0"}
    assert await needs(judge, mounting("disk", supplementalGroups=[0])) == set()
    template = {"volumeClaimTemplate": {"spec": {"volumeName": "nobodys"}}}
    later["spec"]["volumes"] = [{"name": "data", "ephemeral": template}]
    assert "shared-volume/group/0" in await needs(judge, later)


async def test_all_that_is_left_out_is_filled_in_and_the_pod_admitted(
    engine: EmbeddedEngine, place: Folder
) -> None:
    """With the first ID of each range; the validating pass finds nothing more to ask."""
    judge = judge_of(with_ranges(place, groups="2000-2010,3000/5").cluster(), engine)
    _, _, after = await mutated(judge, request(mounting()))
    assert after.object is not None
    spec = msgspec.json.decode(after.object)["spec"]
    assert spec["securityContext"] == CONTEXT | {
        "runAsUser": FIRST,
        "runAsGroup": 2000,
        "supplementalGroups": [2000],
        "supplementalGroupsPolicy": "Strict",
    }
    decision = await judge.validate(after, budget=5.0)
    assert (decision.verdict, decision.profile) == (Verdict.ALLOW, "filling")


async def test_what_is_not_filled_in_is_refused(engine: EmbeddedEngine, place: Folder) -> None:
    """Whether the mutating webhook was away or the profile has no such default: never open."""
    judge = judge_of(with_ranges(place).cluster(), engine)
    assert await needs(judge, mounting()) == {"shared-volume/user/any", "shared-volume/group/any"}
    plain = mounting()
    plain["metadata"]["annotations"] = {"sallyport.dev/profile": "plain"}
    _, patches, after = await mutated(judge, request(plain))
    assert not [each for each in patches if each["path"].startswith("/spec")]
    after = msgspec.structs.replace(after, phase=Phase.VALIDATING)
    assert (await judge.validate(after, budget=5.0)).verdict is Verdict.DENY


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ({"runAsUser": FIRST - 1}, {f"shared-volume/user/{FIRST - 1}"}),
        ({"runAsUser": FIRST + 9999}, set()),
        ({"fsGroup": FIRST + 10000}, {f"shared-volume/group/{FIRST + 10000}"}),
        ({"supplementalGroups": [FIRST, 1000]}, {"shared-volume/group/1000"}),
        ({"runAsGroup": 5000}, {"shared-volume/group/5000"}),
        ({"supplementalGroupsPolicy": "Merge"}, {"shared-volume/group/any"}),
    ],
    ids=str,
)
async def test_what_is_outside_of_the_ranges_is_a_privilege(
    engine: EmbeddedEngine, place: Folder, context: dict[str, Any], expected: set[str]
) -> None:
    """The IDs of other namespaces too, which no bound says anything of."""
    judge = judge_of(with_ranges(place).cluster(), engine)
    _, _, after = await mutated(judge, request(mounting(**context)))
    assert after.object is not None
    assert await needs(judge, msgspec.json.decode(after.object)) >= expected
    if not expected:
        assert (await judge.validate(after, budget=5.0)).verdict is Verdict.ALLOW


async def test_pods_on_no_shared_file_system_stay_as_they_are(
    engine: EmbeddedEngine, place: Folder
) -> None:
    """Neither judged by the ranges nor filled in: images may want their own user there."""
    judge = judge_of(with_ranges(place).cluster(), engine)
    _, patches, after = await mutated(judge, request(mounting("disk", runAsUser=7, fsGroup=8)))
    assert not [each for each in patches if "securityContext" in each["path"]]
    assert (await judge.validate(after, budget=5.0)).verdict is Verdict.ALLOW


async def test_templates_need_name_no_ids(engine: EmbeddedEngine, place: Folder) -> None:
    """Their Pods are filled in; IDs that they do name are judged."""
    judge = judge_of(with_ranges(place).cluster(), engine)

    async def needed(**context: Any) -> dict[str, str]:
        made = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "llama", "namespace": "train"},
            "spec": {"template": {"spec": mounting(**context)["spec"]}},
        }
        asked = request(made, kind=Kind("Job", "v1", "batch"), phase=Phase.VALIDATING)
        found = (await judge.validate(asked, budget=5.0)).evidence.needs
        return {each.path: each.privilege for each in found if each.privilege != PULLS}

    assert await needed() == {}
    named = {"spec.template.spec.securityContext.runAsUser": "shared-volume/user/5"}
    assert await needed(runAsUser=5) == named


async def test_ids_that_cannot_be_read_are_an_error(engine: EmbeddedEngine, place: Folder) -> None:
    """Of Pods on shared file systems alone; in every phase, and no denial."""
    judge = judge_of(with_ranges(place, "0/5").cluster(), engine)
    for made in (mounting(), mounting(runAsUser=FIRST)):
        decision = await judge.validate(request(made, phase=Phase.VALIDATING), budget=5.0)
        assert (decision.verdict, decision.allowed) == (Verdict.ERROR, False)
        assert "metadata.annotations[sallyport.dev/uid-range]" in decision.message
    assert await needs(judge, mounting("disk")) == set()


async def test_what_enforcing_would_do_counts_what_it_would_fill_in(
    engine: EmbeddedEngine, place: Folder
) -> None:
    """A namespace that only watches fills in nothing, and predicts no refusal for that."""
    with_ranges(place)
    (found,) = (each for each in place.documents if each["kind"] == "Namespace")
    found["metadata"]["labels"] = {"sallyport.dev/mode": "audit"}
    judge = judge_of(place.cluster(), engine)
    decision = await judge.validate(request(mounting(), phase=Phase.VALIDATING), budget=5.0)
    assert decision.verdict is Verdict.ALLOW


@pytest.mark.parametrize("written", ["0/5", "foo", ""])
async def test_a_namespace_does_not_take_ids_that_cannot_be_read(
    engine: EmbeddedEngine, place: Folder, written: str
) -> None:
    """Also from who may exempt namespaces; one that has such IDs can be changed otherwise."""
    place.grant("User:alice@example.com", "train", verb="exempt", resource="namespaces")
    judge = judge_of(place.cluster(), engine)
    marks = {"sallyport.dev/uid-range": written}
    made = {"metadata": {"name": "train", "annotations": marks}}
    asked = request(made, kind=NAMESPACE, name="train", namespace="")
    decision = await judge.validate(asked, budget=5.0)
    (finding,) = decision.findings
    assert finding.rule == "namespaces/ids"
    assert finding.path == "metadata.annotations[sallyport.dev/uid-range]"
    assert "FIRST/COUNT" in finding.remedy


@pytest.mark.parametrize("context", [{}, {"runAsUser": FIRST}, {"runAsGroup": 5000}], ids=str)
@pytest.mark.parametrize("count", range(len(IDS) + 1))
async def test_a_pod_of_a_file_gets_the_answer_of_both_passes(
    engine: EmbeddedEngine, place: Folder, context: dict[str, Any], count: int
) -> None:
    """Whatever the profile fills in: of a file nothing else counts as filled in."""
    with_ranges(place)
    for name in ("plain", "filling"):
        defaults = {"namespaceIds": IDS[:count]}
        place.documents[_profile_of(place, name)]["spec"]["defaults"] = defaults
    judge = judge_of(place.cluster(), engine)
    made = mounting(**context)
    _, _, after = await mutated(judge, request(made))
    gate = await judge.validate(msgspec.structs.replace(after, phase=Phase.VALIDATING), budget=5.0)
    of_file = await judge.validate(request(made), budget=5.0)
    assert of_file.verdict is gate.verdict
    assert of_file.profile == gate.profile
    assert [each.privilege for each in of_file.findings] == [
        each.privilege for each in gate.findings
    ]
    assert (gate.verdict is Verdict.ALLOW) is (count == len(IDS) and "runAsGroup" not in context)
