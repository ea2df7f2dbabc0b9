"""From a call of the roll follows who is gone, and nothing of whom it does not concern."""

import uuid
from random import Random

import msgspec

from core.weights.documents.object_change import decode_change, encode_change
from core.weights.documents.pod_life import LifeEvent, PodLife
from core.weights.documents.roll_calls import build_roll_call, read_roll_calls

AT_MS = 1_790_000_000_000
TIME = "2026-09-21T14:13:20.000Z"


def uids(count: int) -> list[str]:
    """Return UIDs as kube-apiserver makes them."""
    random = Random(7)  # noqa: S311  No secrets.
    return [str(uuid.UUID(int=random.getrandbits(128), version=4)) for _ in range(count)]


def life(uid: str, **changes: object) -> PodLife:
    """Return the last that is known of a Pod."""
    made = PodLife(
        format=1,
        id=uid,
        time="2026-09-21T10:00:00.000Z",
        cluster="c-1",
        event=LifeEvent.ADDRESSED,
        uid=uid,
        namespace="train",
        name="llm-0",
        service_account="trainer",
        addresses=["10.2.0.1"],
        began="2026-09-21T09:59:00.000Z",
    )
    return msgspec.structs.replace(made, **changes)


def test_whoever_does_not_answer_has_ended_by_then() -> None:
    """Over several parts, in whatever order they are read; the end is not sure."""
    alive, gone = uids(45_000), str(uuid.uuid4())
    parts = [
        decode_change(encode_change(each)) for each in build_roll_call("c-1", alive, AT_MS, "")
    ]
    assert len(parts) == 3
    assert max(len(encode_change(each)) for each in parts) < 256 * 1024
    (called,) = read_roll_calls(reversed(parts))
    assert all(called.end_of(life(each)) is None for each in alive[::1000])
    end = called.end_of(life(gone))
    assert end is not None
    assert (end.event, end.ended, end.sure) == (LifeEvent.ENDED, TIME, False)
    assert end.addresses == ["10.2.0.1"]
    assert end == called.end_of(life(gone)), "the same each time"


def test_a_roll_that_lacks_a_part_is_none() -> None:
    """Its Pods would be taken for dead."""
    parts = build_roll_call("c-1", uids(45_000), AT_MS, "")
    assert read_roll_calls(parts[:2]) == []
    broken = msgspec.structs.replace(parts[0], spec={**parts[0].spec, "uids": "?"})
    assert read_roll_calls([broken, *parts[1:]]) == []


def test_an_empty_cluster_answers_too() -> None:
    """Then all are gone."""
    (called,) = read_roll_calls(build_roll_call("c-1", [], AT_MS, ""))
    assert called.end_of(life(str(uuid.uuid4()))) is not None


def test_roll_call_ends_no_other_pods() -> None:
    """Pods of another cluster, those that were made later, and those whose end is known."""
    (called,) = read_roll_calls(build_roll_call("c-1", [], AT_MS, ""))
    uid = str(uuid.uuid4())
    assert called.end_of(life(uid, cluster="c-2")) is None
    assert called.end_of(life(uid, time="2026-09-21T14:13:20.001Z")) is None
    assert called.end_of(life(uid, ended="2026-09-21T12:00:00.000Z")) is None
