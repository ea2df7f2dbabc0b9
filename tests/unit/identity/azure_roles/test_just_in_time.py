"""Role assignments live as long as their grants, and nobody else's are touched."""

from typing import Any

import msgspec

from core.base.sallyport_objects import read_object
from core.weights.access_grants import AccessGrant, grant_of
from identity.azure_roles.arm_responses import Assignment
from identity.azure_roles.grant_assignments import (
    CONTRIBUTOR,
    READER,
    ImpossibleAssignment,
    Recipient,
    WantedAssignment,
    condition_of,
    is_ours,
    plan_assignments,
    wanted_assignments,
)
from tests.unit.identity.azure_roles.roles import ACCOUNT, ALICE, TRAINER, assignment, store

WHO = Recipient(ALICE)


def grant(**spec: Any) -> AccessGrant:
    """Return a grant."""
    whole = {
        "store": "big",
        "rights": ["read"],
        "reason": "evaluation",
        "people": [f"oid:{ALICE}"],
        "expiresAt": "2026-12-01T00:00:00Z",
        **spec,
    }
    meta = {"name": "eval", "namespace": "train", "uid": "u1"}
    raw = {"kind": "AccessGrant", "metadata": meta, "spec": whole}
    return grant_of(read_object(msgspec.json.encode(raw), "AccessGrant"))


def asked(what: AccessGrant, cluster: str = "c", **spec: Any) -> list[WantedAssignment]:
    """Return what a grant asks for."""
    found = list(wanted_assignments(cluster, what, store(**spec), [WHO]))
    return [one for one in found if isinstance(one, WantedAssignment)]


def stored(wanted: WantedAssignment, **over: Any) -> Assignment:
    """Return the assignment that Azure has once it is made."""
    scope, _, name = wanted.path.partition("/providers/Microsoft.Authorization/roleAssignments/")
    properties = {**wanted.body["properties"], "scope": scope, **over}
    return msgspec.convert({"id": wanted.path, "name": name, "properties": properties}, Assignment)


def test_a_grant_to_read_makes_a_reader_of_its_container() -> None:
    """At the container's scope, marked with the grant, the same name each time."""
    (one,) = asked(grant())
    assert one.path.startswith(f"{ACCOUNT}/blobServices/default/containers/checkpoints/")
    assert one.body["properties"]["roleDefinitionId"].endswith(READER)
    assert "train/eval@u1" in one.body["properties"]["description"]
    assert asked(grant()) == [one]
    assert "condition" not in one.body["properties"]


def test_writing_takes_a_contributor_and_prefixes_a_condition() -> None:
    """The condition is on each action that touches blobs."""
    what = grant(rights=["read", "write"], container="checkpoints", prefixes=["prod/"])
    (one,) = asked(what)
    properties = one.body["properties"]
    assert properties["roleDefinitionId"].endswith(CONTRIBUTOR)
    assert "StringStartsWith 'prod/'" in properties["condition"]
    assert "blobs/delete" in properties["condition"]
    assert "blobs/delete" not in condition_of(READER, ["prod/"])


def test_a_prefix_that_would_break_the_condition_is_not_made() -> None:
    """A quote in it would end the text: it is told, and no wider role is given instead."""
    what = grant(container="checkpoints", prefixes=["a' OR 'b"])
    (found,) = wanted_assignments("c", what, store(), [WHO])
    assert isinstance(found, ImpossibleAssignment)
    assert "cannot be written" in found.why


def test_a_store_without_a_resource_is_told() -> None:
    """Nothing can be assigned there."""
    (found,) = wanted_assignments("c", grant(), store(resourceId=None), [WHO])
    assert isinstance(found, ImpossibleAssignment)


def test_what_lacks_is_made_and_what_is_over_is_removed() -> None:
    """The grant that ended loses its assignment, the new one gets its own."""
    (old,) = asked(grant())
    (new,) = asked(grant(reason="other", rights=["write"]))
    found = plan_assignments("c", [new], [stored(old)], complete=True)
    assert found.remove == (old.path,)
    assert found.make == (new,)
    assert plan_assignments("c", [old], [stored(old)], complete=True).make == ()


def test_nothing_is_removed_while_grants_are_not_all_known() -> None:
    """A watch that is away ends nobody's access."""
    (old,) = asked(grant())
    assert plan_assignments("c", [], [stored(old)], complete=False).remove == ()


def test_what_others_made_is_never_removed() -> None:
    """Without our mark, with it on another name, or of another cluster's."""
    (one,) = asked(grant())
    others = [
        assignment(TRAINER),
        stored(one, description="by hand"),
        msgspec.structs.replace(stored(one), name="5b4c1f04-3d0e-4b7a-9a63-1b3f0f9a2c11"),
        *(stored(each) for each in asked(grant(), cluster="other")),
    ]
    assert plan_assignments("c", [], others, complete=True).remove == ()
    assert is_ours("c", stored(one))


def test_a_longer_grant_changes_its_assignment() -> None:
    """The description says until when: it is written again."""
    (old,) = asked(grant())
    (new,) = asked(grant(expiresAt="2026-12-24T00:00:00Z"))
    found = plan_assignments("c", [new], [stored(old)], complete=True)
    assert (found.remove, found.make) == ((), (new,))
