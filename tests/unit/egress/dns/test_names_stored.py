"""What was learnt comes back from its shards: all of it, or all but what is broken."""

import hashlib
import json
from ipaddress import ip_address

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from egress.dns.learnt_names import LearntName, SeenAddress, SeenAlias
from egress.dns.store import (
    FORMAT,
    MAX_SHARD_BYTES,
    STEP_S,
    StoredNames,
    decode_names,
    encode_names,
)

times = st.integers(0, 32 * 10**9).map(lambda eighths: eighths / 8)
seen = st.dictionaries(st.ip_addresses(), times, max_size=5).map(
    lambda last: tuple(
        SeenAddress(each, last[each])
        for each in sorted(last, key=lambda one: (one.version, int(one)))
    )
)
dns_names = st.from_regex(r"[a-z]{1,8}\.example", fullmatch=True)
aliases = st.dictionaries(dns_names, times, max_size=3).map(
    lambda last: tuple(SeenAlias(*each) for each in sorted(last.items()))
)
learnt = st.builds(
    LearntName, seen, st.none() | times, st.none() | times, st.none() | times, aliases=aliases
)
states = st.dictionaries(dns_names, learnt, max_size=8)

ONE = LearntName((SeenAddress(ip_address("192.0.2.1"), 300.0),), 300.0)


def many(count: int) -> dict[str, LearntName]:
    """Return names with ten addresses each, of both families."""
    return {
        f"name-{number}.example.org": LearntName(
            tuple(SeenAddress(ip_address(number * 1000 + each + 2**24), 300.0) for each in range(8))
            + tuple(
                SeenAddress(ip_address(2**125 + number * 10 + each), 300.0) for each in range(2)
            ),
            300.0,
        )
        for number in range(count)
    }


def decoded(shards: tuple[bytes, ...]) -> StoredNames:
    """Read shards under the names of their numbers."""
    return decode_names({f"names-{number}": raw for number, raw in enumerate(shards)})


@given(states, st.sampled_from([1, 2, 8]))
def test_all_comes_back(state: dict[str, LearntName], shards: int) -> None:
    """Every name and address, with times at most one step later; and stored again, the same."""
    found = decoded(encode_names(state, shards))
    assert found.problems == ()
    assert found.names.keys() == state.keys()
    for name, before in state.items():
        after = found.names[name]
        assert [each.address for each in after.seen] == [each.address for each in before.seen]
        for new, old in zip(after.seen, before.seen, strict=True):
            assert old.last <= new.last < old.last + STEP_S
        pairs = zip(
            (after.answered, after.capped, after.unwanted),
            (before.answered, before.capped, before.unwanted),
            strict=True,
        )
        for new_time, old_time in pairs:
            assert (new_time is None) == (old_time is None)
            assert (old_time or 0.0) <= (new_time or 0.0) < (old_time or 0.0) + STEP_S
    assert encode_names(found.names, shards) == encode_names(state, shards)


@given(states, st.randoms(use_true_random=False))
def test_the_same_state_has_the_same_bytes(state: dict[str, LearntName], chance: object) -> None:
    """In whatever order names came to be known."""
    items = list(state.items())
    chance.shuffle(items)  # type: ignore[attr-defined]
    assert encode_names(dict(items)) == encode_names(state)


def test_an_address_seen_again_changes_nothing_at_once() -> None:
    """Within a step of time a name that is shown again and again is stored as it is."""
    later = msgspec.structs.replace(
        ONE, seen=(SeenAddress(ip_address("192.0.2.1"), 1.0),), answered=299.0
    )
    assert encode_names({"a.example": later}) == encode_names({"a.example": ONE})


def test_shards_are_small_enough() -> None:
    """However many names there are, no shard is over its limit; names keep their shard."""
    state = many(3_000)
    shards = encode_names(state)
    assert len(shards) == 4
    assert max(map(len, shards)) <= MAX_SHARD_BYTES
    assert decoded(shards).names == state
    fewer = encode_names({name: state[name] for name in list(state)[:2_900]}, len(shards))
    first = set(json.loads(fewer[0])["names"])
    assert first <= set(json.loads(shards[0])["names"])


def test_shards_are_not_halved_and_doubled_in_turn() -> None:
    """Where there is room in half as many, but little, there stay as many as there are."""
    shards = encode_names(many(3_000))
    assert len(encode_names(many(2_200), len(shards))) == len(shards)
    assert len(encode_names(many(300), len(shards))) < len(shards)
    assert len(encode_names({}, len(shards))) == 1


@given(st.integers(0, 4), st.sampled_from([1, 4]))
@settings(max_examples=20)
def test_nothing_is_lost_when_killed_between_shards(written: int, before_count: int) -> None:
    """Written in the order that is demanded, any number of shards of a new count is enough."""
    state = many(40)
    small, large = encode_names(state), tuple(packed(state, 4))
    growing = before_count < len(large)
    before, after = (small, large) if growing else (large, small)
    stored = dict(enumerate(before))
    order = range(len(after) - 1, -1, -1) if growing else range(len(after))
    for number in list(order)[:written]:
        stored[number] = after[number]
    found = decode_names({f"names-{number}": raw for number, raw in stored.items()})
    assert found.names == state
    assert found.problems == ()


def packed(state: dict[str, LearntName], count: int) -> list[bytes]:
    """Return the shards of a state that needs one, as if it needed more."""
    found = [dict[str, object]() for _ in range(count)]
    whole = json.loads(encode_names(state)[0])["names"]
    for name in whole:
        found[hash_of(name) % count][name] = whole[name]
    return [json.dumps({"format": FORMAT, "names": part}).encode() for part in found]


def hash_of(name: str) -> int:
    """Return the number by which a name finds its shard: it is stored, so it never changes."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")


def test_the_later_of_two_counts() -> None:
    """A name in two shards has the addresses of both, each with its later time."""
    one = LearntName(
        (SeenAddress(ip_address("192.0.2.1"), 300.0), SeenAddress(ip_address("192.0.2.2"), 600.0)),
        300.0,
    )
    two = LearntName((SeenAddress(ip_address("192.0.2.1"), 900.0),), None, 900.0, 900.0)
    both = LearntName(
        (SeenAddress(ip_address("192.0.2.1"), 900.0), SeenAddress(ip_address("192.0.2.2"), 600.0)),
        300.0,
        900.0,
    )
    for pair in ((one, two), (two, one)):
        shards = tuple(encode_names({"a.example": each})[0] for each in pair)
        assert decoded(shards).names["a.example"] == both


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (b"", "learnt names names-1: Input data was truncated"),
        (b"{", "learnt names names-1: Input data was truncated"),
        (b"\xff", "learnt names names-1: JSON is malformed"),
        (b'{"names": {}}', "learnt names names-1: Object missing required field `format`"),
        (b'{"format": 1}', "learnt names names-1: Object missing required field `names`"),
        (b'{"format": 9, "names": {}}', "learnt names names-1: format: 9; this release reads up"),
        (
            b'{"format": 1, "names": {"b.example": {"seen": {"x": 1}}}}',
            "learnt names names-1: names[b.example].seen: 'x' must be an IP address",
        ),
        (
            b'{"format": 1, "names": {"b.example": {"seen": {"192.0.2.1": "now"}}}}',
            "learnt names names-1: names[b.example].seen[...]: Expected `int`",
        ),
        (
            b'{"format": 1, "names": {"b.example": {"seen": {"192.0.2.1": 1%s}}}}' % (b"0" * 400),
            "learnt names names-1: names[b.example].seen: '192.0.2.1' must be an IP address",
        ),
    ],
)
def test_a_broken_shard_loses_no_other(broken: bytes, problem: str) -> None:
    """Its error names the shard and the field; what the others hold is there."""
    found = decode_names({"names-0": encode_names({"a.example": ONE})[0], "names-1": broken})
    assert found.names == {"a.example": ONE}
    assert len(found.problems) == 1
    assert found.problems[0].startswith(problem)


def test_a_broken_name_loses_no_other_of_its_shard() -> None:
    """One bad entry is told; the rest of the shard is read."""
    content = json.loads(encode_names({"a.example": ONE})[0])
    content["names"]["b.example"] = {"seen": []}
    found = decode_names({"names-0": json.dumps(content).encode()})
    assert found.names == {"a.example": ONE}
    assert len(found.problems) == 1


@pytest.mark.parametrize("version", [FORMAT - 1, FORMAT, FORMAT + 1])
def test_neighbouring_releases_are_read(version: int) -> None:
    """Fields that this release does not know are passed over."""
    content = {
        "format": version,
        "writer": "x",
        "names": {"a.example": {"seen": {"192.0.2.1": 300}, "answered": 300, "new": {"y": 1}}},
    }
    found = decode_names({"names-0": json.dumps(content).encode()})
    assert found == StoredNames({"a.example": ONE}, ())


def test_the_stored_form_does_not_change() -> None:
    """What this release writes, byte for byte: neighbours must read it."""
    assert encode_names({"a.example": ONE}) == (
        b'{"format":1,"names":{"a.example":{"seen":{"192.0.2.1":300},"answered":300}}}',
    )


def test_a_restart_knows_which_names_are_still_learnt() -> None:
    """Since when, to the second, and what was estimated; of two shards the worse counts."""
    learning = msgspec.structs.replace(ONE, learning=299.5, refused=40)
    found = decoded(encode_names({"a.example": learning})).names["a.example"]
    assert (found.learning, found.refused) == (299, 40)
    other = encode_names({"a.example": msgspec.structs.replace(learning, refused=60)})
    both = decode_names({"0": encode_names({"a.example": learning})[0], "1": other[0]})
    assert both.names["a.example"].refused == 60
    assert decoded(encode_names({"a.example": ONE})).names["a.example"].learning is None


@pytest.mark.parametrize("time", [-1, 2**62])
def test_a_beginning_that_is_no_time_is_told(time: int) -> None:
    """The name comes to be learnt anew."""
    raw = f'{{"format": 1, "names": {{"a.example": {{"seen": {{}}, "learning": {time}}}}}}}'
    found = decode_names({"0": raw.encode()})
    assert found.names == {}
    assert "names[a.example].learning: must be Unix seconds" in found.problems[0]
