"""What is stored gives back the snapshot; whatever was done to it is noticed."""

import zlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InvalidObjectError
from core.risk.columns import SnapshotBase, sections_of, shard_of
from core.risk.model import RiskEntry, RiskSource, RiskState
from core.risk.records import WIDTHS
from core.risk.snapshot import Coverage, Head, RiskSnapshot, SnapshotDraft
from core.risk.snapshot_storage import (
    DIGEST_KEY,
    HEAD_KEY,
    MOST_SHARD,
    SECRET_NAMES,
    StoredBase,
    StoredHead,
    build_head,
    decode_head,
    decode_shard,
    digest_of,
    encode_base,
    encode_head,
    is_newer,
    pack_shard,
    shard_name,
    snapshot_of,
    snapshot_without_base,
)
from tests.unit.core.risk.samples import NOW, filled, of_every_sort, rebased

GOLDEN = Path(__file__).parent / "golden"


class _Golden(msgspec.Struct):
    head: str
    shards: tuple[bytes, ...]


def stored(snapshot: RiskSnapshot) -> tuple[dict[str, bytes], StoredBase]:
    """Store a snapshot: its base as shards, its changes in the head."""
    written = encode_base(snapshot.base.items())
    return encode_head(build_head(snapshot, "a", written.digests)), written


def read(data: dict[str, bytes], shards: tuple[bytes, ...]) -> RiskSnapshot:
    """Read it back."""
    head = decode_head(data)
    return snapshot_of(head, SnapshotBase(tuple(map(decode_shard, shards, head.shards))))


def is_safe(found: RiskEntry) -> bool:
    """Return whether an entry says of nobody that they are at risk."""
    return found.state not in {RiskState.AT_RISK, RiskState.UNKNOWN} and not found.revoked


def test_a_snapshot_comes_back_as_it_was() -> None:
    """Records of every sort, changed and gone ones, and what it says of itself."""
    snapshot = of_every_sort()
    head = Head(
        version=7,
        written=NOW + 0.5,
        tenant="t",
        users=Coverage(as_of=1.5, through="2026-11-22T08:00:00.1234567Z", problem="403"),
        table="format: 1\n",
    )
    snapshot = replace(snapshot, head=head)
    data, written = stored(snapshot)
    found = read(data, written.shards)
    assert (found.head, found.event_types) == (head, snapshot.event_types)
    assert dict(found.records()) == dict(snapshot.records())
    assert found.changes == snapshot.changes
    assert list(found.entries(RiskSource.CAEP))
    assert dict(found.entries(RiskSource.CAEP)) == dict(snapshot.entries(RiskSource.CAEP))


def test_equal_snapshots_give_equal_bytes() -> None:
    """In whatever order they were filled."""
    snapshot, keys = filled(200)
    keys.sort(key=lambda each: each[::-1])
    draft = SnapshotDraft.of(RiskSnapshot(event_types=snapshot.event_types))
    for key in keys:
        found = snapshot.entry(RiskSource.ENTRA, key)
        assert found is not None
        draft.put(RiskSource.ENTRA, key, found)
    other = draft.finish(NOW)
    for one, two in ((snapshot, other), (rebased(snapshot), rebased(other))):
        (head, written), (other_head, other_written) = stored(one), stored(two)
        assert (head, written.shards) == (other_head, other_written.shards)


def test_nothing_at_all_can_be_stored() -> None:
    """The empty snapshot, which has no shards."""
    data = encode_head(build_head(RiskSnapshot(), "", ()))
    found = snapshot_of(decode_head(data), SnapshotBase())
    assert list(found.records()) == []
    assert found.head.users.as_of is None


@given(st.data())
def test_whatever_byte_is_changed_is_noticed(data: st.DataObject) -> None:
    """In the head or in a shard, cut off or swapped: an error, and no other snapshot."""
    content, written = stored(of_every_sort())
    shards = list(written.shards)
    what = data.draw(st.sampled_from(["head", "digest", "shard", "cut", "swap", "none"]))
    number = data.draw(st.integers(0, 15))
    if what in {"head", "digest"}:
        name = HEAD_KEY if what == "head" else DIGEST_KEY
        at = data.draw(st.integers(0, len(content[name]) - 1))
        changed = bytearray(content[name])
        changed[at] ^= data.draw(st.integers(1, 255))
        content[name] = bytes(changed)
    elif what == "shard":
        changed = bytearray(shards[number])
        changed[data.draw(st.integers(0, len(changed) - 1))] ^= 1
        shards[number] = bytes(changed)
    elif what == "cut":
        shards[number] = shards[number][: data.draw(st.integers(0, len(shards[number]) - 1))]
    elif what == "swap":
        shards[number], shards[number - 1] = shards[number - 1], shards[number]
        same = shards[number] == shards[number - 1]
        what = "none" if same else what
    if what == "none":
        assert dict(read(content, tuple(shards)).records())
        return
    with pytest.raises(InvalidObjectError, match="stored risk snapshot"):
        read(content, tuple(shards))


@given(st.binary(max_size=300))
def test_no_bytes_crash_the_reader(content: bytes) -> None:
    """Also those that carry the right digest: an error of ours, whatever they are."""
    for sent in (content, zlib.compress(content), zlib.compress(b"SPRB\x01" + content)):
        with suppress(InvalidObjectError):
            decode_shard(sent, digest_of(sent))
    with pytest.raises(InvalidObjectError):
        decode_head({HEAD_KEY: content, DIGEST_KEY: digest_of(content).encode()})


def test_a_bomb_is_not_unpacked() -> None:
    """A gigabyte of zeros, packed: refused after 16 MiB."""
    packer = zlib.compressobj()
    bomb = b"".join(packer.compress(bytes(2**20)) for _ in range(64)) + packer.flush()
    with pytest.raises(InvalidObjectError, match="too large"):
        decode_shard(bomb, digest_of(bomb))


@pytest.mark.parametrize(("written", "readable"), [(0, True), (1, True), (2, True), (3, False)])
def test_the_next_format_is_read_and_the_one_after_is_not(written: int, *, readable: bool) -> None:
    """With fields that this release does not know; what it cannot read says which release can."""
    head = msgspec.json.decode(
        encode_head(build_head(of_every_sort(), "a", ("0" * 64,) * 16))["head"]
    )
    content = msgspec.json.encode(head | {"format": written, "later": [1]})
    data = {HEAD_KEY: content, DIGEST_KEY: digest_of(content).encode()}
    assert is_newer(data) is (written > 2)
    if readable:
        assert decode_head(data).head.version
    else:
        with pytest.raises(InvalidObjectError, match=r"format: is 3; this release reads 0 to 2"):
            decode_head(data)


def test_longer_rows_and_new_sorts_of_a_later_release_are_read_over() -> None:
    """A shard of the next format: a sort more, and a field more in each entry."""
    snapshot, _ = filled(20)
    later = dict(WIDTHS) | {0: WIDTHS[0] + 3, 9: 2}
    longer = [(key, record[:22] + b"xyz" + record[22:]) for key, record in snapshot.records()]
    packed = pack_shard(sections_of([*longer, (b"\x09" + bytes(16), b"abc")], later))
    found = decode_shard(packed, digest_of(packed))
    assert set(found) == {0}
    assert sorted(found[0].items()) == sorted((k[1:], r) for k, r in snapshot.records())


def test_when_there_is_no_room_those_not_at_risk_go_first() -> None:
    """The ones that changed the longest ago; nobody at risk, revoked or unknown is left out."""
    snapshot, _ = filled(3000, risky=0.2)
    draft = SnapshotDraft.of(snapshot)
    draft.put(RiskSource.ENTRA, b"r" * 16, RiskEntry(updated=1, revoked=NOW))
    draft.put(RiskSource.ENTRA, b"u" * 16, RiskEntry(updated=1, state=RiskState.UNKNOWN))
    snapshot = draft.finish(NOW)
    most = max(map(len, encode_base(snapshot.records()).shards)) // 2
    written = encode_base(snapshot.records(), most)
    assert written.left_out
    assert max(map(len, written.shards)) <= most
    kept = RiskSnapshot(base=written.base, event_types=snapshot.event_types)
    assert set(written.base) | written.left_out == {key for key, _ in snapshot.records()}
    entries = dict(snapshot.entries(RiskSource.ENTRA))
    for number in range(16):
        shard = [key for key in entries if shard_of(b"\0" + key) == number]
        spared = [
            key for key in shard if kept.entry(RiskSource.ENTRA, key) and is_safe(entries[key])
        ]
        gone = [key for key in shard if kept.entry(RiskSource.ENTRA, key) is None]
        assert all(is_safe(entries[key]) for key in gone)
        newest = max((entries[key].updated for key in gone), default=0)
        assert all(entries[key].updated >= newest for key in spared)


def test_too_many_at_risk_are_an_error_and_never_left_out() -> None:
    """It says how many bytes they take."""
    snapshot, _ = filled(400, risky=1.0)
    with pytest.raises(InvalidObjectError, match="those at risk alone take"):
        encode_base(snapshot.records(), 500)


def test_without_its_shards_the_changes_and_the_table_are_kept() -> None:
    """And nothing says any more that all are known."""
    snapshot = replace(
        of_every_sort(),
        head=Head(version=5, written=1.0, users=Coverage(as_of=1.0), table="t", tenant="x"),
    )
    data, _ = stored(snapshot)
    found = snapshot_without_base(data, 3)
    assert found.head == Head(version=5, written=1.0, table="t", tenant="x")
    assert dict(found.entries(RiskSource.CAEP)) == dict(snapshot.entries(RiskSource.CAEP))
    assert list(found.entries(RiskSource.ENTRA)) == []
    broken = snapshot_without_base({HEAD_KEY: b"{}"}, 3)
    assert (broken.head, list(broken.records())) == (Head(version=3), [])


def test_sizes_at_a_few_thousand_identities() -> None:
    """In proportion to the 8 MiB of 100,000 in base64, which `make bench WHAT=risk` measures."""
    snapshot, _ = filled(4000)
    written = encode_base(snapshot.records())
    assert sum(map(len, written.shards)) * 4 / 3 < 8 * 2**20 * 4000 / 100_000
    assert MOST_SHARD * 4 / 3 + 1024 < 2**20


def test_names_of_all_secrets() -> None:
    """The head and two generations of 16: what RBAC names."""
    assert len(set(SECRET_NAMES)) == 33
    assert {SECRET_NAMES[0], shard_name("a", 0), shard_name("b", 15)} <= set(SECRET_NAMES)


def test_what_the_first_release_wrote_can_be_read() -> None:
    """The golden file: a head and its shards, as format 1 wrote them."""
    golden = msgspec.json.decode((GOLDEN / "risk-1.json").read_bytes(), type=_Golden)
    data = {HEAD_KEY: golden.head.encode(), DIGEST_KEY: digest_of(golden.head.encode()).encode()}
    found = read(data, golden.shards)
    expected = of_every_sort()
    assert dict(found.records()) == dict(expected.records())
    assert (found.head, found.event_types) == (expected.head, expected.event_types)


def test_a_stored_head_is_plain_json() -> None:
    """Whoever looks at it sees its version, its times and its table."""
    content = msgspec.json.decode(stored(of_every_sort())[0][HEAD_KEY])
    assert content["format"] == 1
    assert set(content) <= {each.encode_name for each in msgspec.structs.fields(StoredHead)}
