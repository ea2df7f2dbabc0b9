"""A snapshot is what was put into it, whether it lies in the base or beside it."""

import random

from hypothesis import given
from hypothesis import strategies as st

from core.risk.columns import SnapshotBase, sections_of, shard_of
from core.risk.model import (
    Application,
    ApplicationKind,
    Behaviour,
    BehaviourEntry,
    RiskEntry,
    RiskLevel,
    RiskSource,
    RiskState,
    identity_key,
)
from core.risk.records import WIDTHS
from core.risk.snapshot import Coverage, RiskSnapshot, SnapshotDraft, rebase_snapshot
from tests.unit.core.risk.samples import NOW, filled, of_every_sort, rebased

_keys = st.binary(min_size=1, max_size=3).map(lambda each: each.ljust(16, b"\0"))
_changes = st.lists(st.tuples(_keys, st.one_of(st.none(), st.integers(1, 9))), max_size=25)
"""Who, and when their entry was changed; None where it was dropped. Keys share their beginnings."""


def _apply(snapshot: RiskSnapshot, changes: list[tuple[bytes, int | None]]) -> RiskSnapshot:
    draft = SnapshotDraft.of(snapshot)
    for key, updated in changes:
        if updated is None:
            draft.drop(RiskSource.ENTRA, key)
        else:
            draft.put(RiskSource.ENTRA, key, RiskEntry(updated=updated, event_id="e" * updated))
    return draft.finish(NOW) if draft.changed else snapshot


@given(st.lists(st.tuples(_changes, st.booleans()), max_size=5))
def test_a_snapshot_says_what_was_put_into_it(
    rounds: list[tuple[list[tuple[bytes, int | None]], bool]],
) -> None:
    """After any changes, and whenever all is moved into the base: like a dict."""
    snapshot, expected = RiskSnapshot(), dict[bytes, int]()
    for changes, rebase in rounds:
        snapshot = _apply(snapshot, changes)
        for key, updated in changes:
            if updated is None:
                expected.pop(key, None)
            else:
                expected[key] = updated
        snapshot = rebased(snapshot) if rebase else snapshot
        found = {key: entry.updated for key, entry in snapshot.entries(RiskSource.ENTRA)}
        assert found == expected
        assert list(snapshot.entries(RiskSource.CAEP)) == []
        draft = SnapshotDraft.of(snapshot)
        assert draft.says_of_fewer(RiskSource.CAEP, 1)
        assert draft.says_of_fewer(RiskSource.ENTRA, len(expected) + 1)
        assert not draft.says_of_fewer(RiskSource.ENTRA, len(expected))
        for key in {each for each, _ in changes}:
            one = snapshot.entry(RiskSource.ENTRA, key)
            assert (one.updated if one else None) == expected.get(key)


@given(_changes, _changes, _changes)
def test_what_came_while_all_was_written_anew_is_kept(
    first: list[tuple[bytes, int | None]],
    second: list[tuple[bytes, int | None]],
    third: list[tuple[bytes, int | None]],
) -> None:
    """`moved` says the same over the new base, with the fewest changes beside it."""
    before = _apply(rebased(_apply(RiskSnapshot(), first)), second)
    base = rebased(before).base
    after = _apply(before, third)
    found = rebase_snapshot(after, base, before.changes)
    assert dict(found.records()) == dict(after.records())
    assert all(base.get(key) != record for key, record in found.changes.items())


@given(st.dictionaries(st.binary(min_size=17, max_size=17), st.binary(max_size=60), max_size=60))
def test_a_base_is_a_mapping_of_its_records(records: dict[bytes, bytes]) -> None:
    """Records of any length, keys that share their beginnings; what is not there is not found."""
    known = {bytes([key[0] % 5]) + key[1:]: record.ljust(22) for key, record in records.items()}
    parts: list[list[tuple[bytes, bytes]]] = [[] for _ in range(16)]
    for key, record in known.items():
        parts[shard_of(key)].append((key, record))
    base = SnapshotBase(tuple(sections_of(part, WIDTHS) for part in parts))
    assert dict(base) == known
    assert len(base) == len(known)
    assert list(base.pairs(b"\x01")) == [each for each in base.pairs() if each[0][0] == 1]
    assert all(
        key[:1] + bytes(16) in known or base.get(key[:1] + bytes(16)) is None for key in base
    )


def test_a_change_that_changes_nothing_leaves_nothing_behind() -> None:
    """Neither a record that is put as it is, nor one that is changed there and back."""
    snapshot = rebased(filled(5)[0])
    key, entry = next(snapshot.entries(RiskSource.ENTRA))
    draft = SnapshotDraft.of(snapshot)
    draft.put(RiskSource.ENTRA, key, entry)
    assert not draft.changed
    draft.put(RiskSource.ENTRA, key, RiskEntry(updated=NOW))
    draft.put(RiskSource.ENTRA, key, entry)
    draft.put_guest(b"x" * 16, is_guest=True)
    draft.put_guest(b"x" * 16, is_guest=False)
    assert draft.finish(NOW).changes == {}


def test_records_of_every_sort_are_found() -> None:
    """And only under their own key and sort."""
    snapshot = of_every_sort()
    client = "11111111-2222-4333-8444-555555555555"
    for each in (snapshot, rebased(snapshot)):
        assert each.application(client) == Application(ApplicationKind.APPLICATION, client)
        assert each.application("missing") == Application(ApplicationKind.MISSING)
        assert each.application("other") is None
        assert dict(each.behaviours()).keys() == {b"a" * 16}
        assert each.is_guest(b"g" * 16)
        assert not each.is_guest(b"a" * 16)
        assert len(list(each.entries(RiskSource.ENTRA))) == 39
        assert len(list(each.entries(RiskSource.CAEP))) == 10


def test_behaviour_counts_until_its_time() -> None:
    """And not at it."""
    draft = SnapshotDraft.of(RiskSnapshot())
    draft.put_behaviour(b"a" * 16, BehaviourEntry(Behaviour.EXEC_BURST, NOW))
    snapshot = draft.finish(NOW)
    assert snapshot.behaviour(b"a" * 16, NOW - 1) is Behaviour.EXEC_BURST
    assert not snapshot.behaviour(b"a" * 16, NOW)
    assert not snapshot.behaviour(b"b" * 16, NOW - 1)


def test_a_snapshot_that_was_given_out_never_changes() -> None:
    """A draft of it, and what is made of that, leave it as it is."""
    snapshot = of_every_sort()
    before = dict(snapshot.records())
    draft = SnapshotDraft.of(snapshot)
    draft.head = type(draft.head)(users=Coverage(as_of=1.0))
    for key, _ in list(snapshot.entries(RiskSource.ENTRA)):
        draft.drop(RiskSource.ENTRA, key)
    later = rebased(draft.finish(NOW + 9))
    assert dict(snapshot.records()) == before
    assert snapshot.head.users.as_of is None
    assert later.head.version == snapshot.head.version + 1


def test_shards_are_even() -> None:
    """No shard has a quarter more than its share, of random ids and of ones that count up."""
    chance = random.Random(3)  # noqa: S311  Samples, the same each time.
    for keys in (
        [b"\0" + chance.randbytes(16) for _ in range(16_000)],
        [b"\0" + identity_key(f"oid:00000000-0000-4000-8000-{n:012x}") for n in range(16_000)],
    ):
        counts = [0] * 16
        for key in keys:
            counts[shard_of(key)] += 1
        assert max(counts) < 1250


def test_levels_and_states_keep_their_numbers() -> None:
    """They are stored: a new one comes at the end."""
    assert [each.value for each in RiskLevel][:6] == [
        "none",
        "low",
        "medium",
        "high",
        "hidden",
        "unknownFutureValue",
    ]
    assert [each.value for each in RiskState][:7] == [
        "none",
        "confirmedSafe",
        "remediated",
        "dismissed",
        "atRisk",
        "confirmedCompromised",
        "unknownFutureValue",
    ]
