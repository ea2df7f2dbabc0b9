"""Ways to somebody else's files on a file system that others mount, tried by a Pod's author."""

import copy
from typing import Any, Final

import pytest

from core.base.errors import NamespaceMarkError
from core.decision.decision import Verdict
from core.decision.id_ranges import parse_id_ranges
from core.decision.request import Operation, Phase
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.profiles.test_shared_volumes import (
    FIRST,
    NFS,
    mounting,
    needs,
    volume,
    with_claims,
    with_ranges,
)
from tests.unit.admission.world import Folder, judge_of, request

Json = dict[str, Any]
ROOT: Final = {"shared-volume/user/0"}


@pytest.fixture
def place(folder: Folder) -> Folder:
    """A namespace with a claim of NFS; everyone may use two profiles."""
    return with_claims(folder)


def beside(made: Json, field: str = "containers", **more: Any) -> Json:
    """Give a Pod a second container, which mounts nothing."""
    (first,) = made["spec"]["containers"]
    second = {key: value for key, value in first.items() if key != "volumeMounts"}
    context = {**first["securityContext"], **more.pop("securityContext", {})}
    second |= {"name": "second", "securityContext": context, **more}
    made["spec"].setdefault(field, []).append(second)
    return made


def shared_processes() -> Json:
    """Root beside it, which reaches what the other one mounts by /proc/PID/root."""
    made = beside(mounting(runAsUser=1000), securityContext={"runAsUser": 0})
    made["spec"]["shareProcessNamespace"] = True
    return made


def target_of_debugging() -> Json:
    """A debug container of root in the processes of one that mounts it."""
    made = mounting(runAsUser=1000)
    name = made["spec"]["containers"][0]["name"]
    more = {"securityContext": {"runAsUser": 0}, "targetContainerName": name}
    return beside(made, "ephemeralContainers", **more)


def in_one_container() -> Json:
    """The Pod says a person's number, one container 0."""
    made = mounting(runAsUser=1000)
    made["spec"]["containers"][0]["securityContext"]["runAsUser"] = 0
    return made


def restartable() -> Json:
    """A restartable init container of root mounts it, and nothing else does."""
    made = mounting(runAsUser=1000)
    mounts = made["spec"]["containers"][0].pop("volumeMounts")
    more: Json = {"volumeMounts": mounts, "restartPolicy": "Always"}
    return beside(made, "initContainers", securityContext={"runAsUser": 0}, **more)


def by_a_part_of_it() -> Json:
    """Of the mount only a folder is shown, read-only."""
    made = in_one_container()
    mount = made["spec"]["containers"][0]["volumeMounts"][0]
    mount |= {"subPathExpr": "$(HOME)", "readOnly": True, "recursiveReadOnly": "Enabled"}
    return made


def by_two_sources() -> Json:
    """The volume names two sources, the harmless one first."""
    made = in_one_container()
    (found,) = made["spec"]["volumes"]
    made["spec"]["volumes"] = [{"emptyDir": {}, **found}]
    return made


def by_a_claim_of_its_own() -> Json:
    """An ephemeral volume whose claim names a volume that nobody has."""
    made = in_one_container()
    template = {"spec": {"volumeName": "free", "storageClassName": ""}}
    made["spec"]["volumes"] = [{"name": "data", "ephemeral": {"volumeClaimTemplate": template}}]
    return made


def by_a_claim_that_is_not_there() -> Json:
    """A claim that is made, and bound to the free volume, once the Pod is admitted."""
    made = in_one_container()
    made["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "later"}}]
    return made


AS_ROOT: Final = {
    each.__name__: each
    for each in (
        shared_processes,
        target_of_debugging,
        in_one_container,
        restartable,
        by_a_part_of_it,
        by_two_sources,
        by_a_claim_of_its_own,
        by_a_claim_that_is_not_there,
    )
}


@pytest.mark.parametrize("way", AS_ROOT)
async def test_root_on_a_shared_file_system(
    engine: EmbeddedEngine, place: Folder, way: str
) -> None:
    """Wants to be user 0 to the server, where only the user of another place is looked at."""
    place.documents.append(volume("free", **NFS))
    found = await needs(judge_of(place.cluster(), engine), AS_ROOT[way]())
    assert found >= ROOT, found


async def test_a_neighbour_without_shared_processes_needs_nothing(
    engine: EmbeddedEngine, place: Folder
) -> None:
    """What is asked for above is for what it reaches, not for being root."""
    found = await needs(
        judge_of(place.cluster(), engine),
        beside(mounting(runAsUser=1000), securityContext={"runAsUser": 0}),
    )
    assert not {each for each in found if each.startswith("shared-volume/")}


NOWHERE: Final[dict[str, Json]] = {
    "null for the policy": {"supplementalGroupsPolicy": None},
    "no groups, and Merge": {"supplementalGroups": [], "supplementalGroupsPolicy": "Merge"},
    "null for the group": {"runAsGroup": None, "supplementalGroupsPolicy": "Strict"},
    "the policy in other letters": {"supplementalGroupsPolicy": "strict"},
}


@pytest.mark.parametrize("context", NOWHERE.values(), ids=NOWHERE)
async def test_groups_of_the_image_in_a_namespace_with_ids(
    engine: EmbeddedEngine, place: Folder, context: Json
) -> None:
    """Wants the groups that its own image adds, by saying nothing or something odd."""
    made = mounting(**{"runAsUser": FIRST, "runAsGroup": FIRST, **context})
    found = await needs(judge_of(with_ranges(place).cluster(), engine), made)
    assert "shared-volume/group/any" in found


async def test_an_old_pod_that_is_root_there_already(engine: EmbeddedEngine, place: Folder) -> None:
    """Wants an update of such a Pod to carry what nobody may have: another image is judged."""
    old, new = in_one_container(), in_one_container()
    new["spec"]["containers"][0]["image"] += "0"
    asked = request(new, operation=Operation.UPDATE, old=old, phase=Phase.VALIDATING)
    decision = await judge_of(place.cluster(), engine).validate(asked, budget=5.0)
    assert decision.verdict is Verdict.DENY
    assert "shared-volume/user/0" in {each.privilege for each in decision.findings}
    same = copy.deepcopy(old)
    asked = request(same, operation=Operation.UPDATE, old=old, phase=Phase.VALIDATING)
    assert (await judge_of(place.cluster(), engine).validate(asked, budget=5.0)).allowed


ODD: Final = (
    "0x3e8/10",
    "1_000/10",
    "+1000/10",
    "١٠٠٠/10",
    "1000/10/10",
    "1000-0x7fffffff",
    "1000/4294967296",
    "0-4294967295",
    "00000000000/1",
    "1000\x00/10",
    "1000/10\n0/1",
    ",",
    "",
)


@pytest.mark.parametrize("text", ODD)
def test_ids_that_are_spelled_oddly(text: str) -> None:
    """Wants a block that is read as nothing, as everything, or around the end of an integer."""
    with pytest.raises(NamespaceMarkError):
        parse_id_ranges("train", {"sallyport.dev/supplemental-groups": text})
