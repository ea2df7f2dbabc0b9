"""Bundles in ConfigMaps: cut into parts and put together, and kept as long as they are needed."""

import asyncio
import json
import random

import msgspec
import pytest

from core.base.errors import ClusterError, InvalidObjectError
from core.policy_bundles import (
    BASE,
    GATES_NAME,
    HEAD_KEY,
    HEAD_NAME,
    MOST_PARTS,
    PART_BYTES,
    SLOTS,
    BundleHead,
    GateAnnouncement,
    PublishedBundle,
    decode_head,
    part_name,
)
from kube.bundles.store import BundleStore, with_active
from kube.bundles.watch import PublishedBundles, parse_head, read_part, split_bundle
from kube.client.settings import LiveSettings
from tests.unit.kube.config_maps import NAMESPACE, PATH, Cluster


@pytest.fixture
def cluster() -> Cluster:
    """A cluster without bundles."""
    return Cluster()


@pytest.fixture
def store(cluster: Cluster) -> BundleStore:
    """What is published in it."""
    return BundleStore(cluster, NAMESPACE)  # type: ignore[arg-type]  # As much of it as is used.


@pytest.fixture
def published(cluster: Cluster) -> PublishedBundles:
    """The same, as a gate reads it."""
    settings = LiveSettings(namespace=NAMESPACE)
    return PublishedBundles(cluster, settings, lambda: None)  # type: ignore[arg-type]  # As above.


def of(number: int) -> PublishedBundle:
    """Say what is published."""
    return PublishedBundle(f"{number:012x}", "", 0, 1)


async def publish(store: BundleStore, number: int, packed: bytes) -> BundleHead:
    """Publish a bundle, and have it wanted."""
    before = await store.publish(await store.read(), packed, of(number))
    await store.write(before, before.head)
    return (await store.read()).head


@pytest.mark.parametrize("size", [1, PART_BYTES, PART_BYTES + 1, MOST_PARTS * PART_BYTES])
async def test_a_bundle_comes_back_as_it_was(
    store: BundleStore, published: PublishedBundles, size: int
) -> None:
    """In as many parts as it takes, none of which is larger than a ConfigMap can be."""
    packed = random.Random(size).randbytes(size)  # noqa: S311 -- must repeat, need not be secret
    head = await publish(store, 1, packed)
    assert head.bundles[0].parts == -(-size // PART_BYTES)
    assert await published.fetch(head.bundles[0]) == packed


def test_a_larger_one_is_refused() -> None:
    """Before anything is written."""
    with pytest.raises(InvalidObjectError, match="larger than 7200 KiB"):
        split_bundle(bytes(MOST_PARTS * PART_BYTES + 1))


async def test_parts_of_another_bundle_are_no_bundle(
    store: BundleStore, cluster: Cluster, published: PublishedBundles
) -> None:
    """As while somebody writes another one there: it is asked again."""
    head = await publish(store, 1, b"one")
    cluster.kept[f"{PATH}/{part_name(0, 0)}"]["binaryData"]["part"] = "dHdv"
    with pytest.raises(ClusterError, match="does not hold the bundle 000000000001"):
        await published.fetch(head.bundles[0])


@pytest.mark.parametrize(
    "held", [b"{}", b'{"binaryData": {"part": "*"}}', b'{"binaryData": 1}', b"[", b"\xff"]
)
def test_what_is_no_part_is_said_to_be_none(held: bytes) -> None:
    """It is no crash."""
    with pytest.raises(ClusterError, match="holds no part of a bundle"):
        read_part(held, "sallyport-bundle-0-0")


async def test_what_is_active_or_was_before_is_never_written_over(
    store: BundleStore, published: PublishedBundles
) -> None:
    """Whatever is wanted, activated and taken back, in whatever order: both can be fetched."""
    chance = random.Random(5)  # noqa: S311 -- must repeat, need not be secret
    for number in range(60):
        head = await publish(store, number, str(number).encode())
        if chance.random() < 0.5:
            before = await store.read()
            await store.write(before, with_active(head, number))
        head = (await store.read()).head
        assert len(head.bundles) <= SLOTS
        assert len({each.slot for each in head.bundles}) == len(head.bundles)
        for name in {head.active, head.previous, head.wanted} - {BASE}:
            found = head.of(name)
            assert found is not None
            assert await published.fetch(found) == str(int(name, 16)).encode()


async def test_to_publish_the_same_again_heals_it(
    store: BundleStore, cluster: Cluster, published: PublishedBundles
) -> None:
    """In the same place, wanted in a turn of its own."""
    await publish(store, 1, b"one")
    cluster.kept[f"{PATH}/{part_name(0, 0)}"]["binaryData"]["part"] = "dHdv"
    head = await publish(store, 1, b"one")
    assert (head.turn, head.claim, [each.slot for each in head.bundles]) == (2, None, [0])
    assert await published.fetch(head.bundles[0]) == b"one"


@pytest.mark.parametrize("full", [False, True], ids=["slots to spare", "one slot left"])
async def test_who_publish_at_once_never_mix_bundles(
    store: BundleStore, cluster: Cluster, published: PublishedBundles, *, full: bool
) -> None:
    """However their requests fall together: what the head names is whole, or somebody is told."""
    chance = random.Random(11)  # noqa: S311 -- must repeat, need not be secret
    size, told, turns = PART_BYTES + 1, 0, 0
    if full:
        for number in range(1, 5):
            await publish(store, number, str(number).encode())
            before = await store.read()
            await store.write(before, with_active(before.head, number))
    cluster.pauses = lambda: chance.choice((0, 1, 1, 12))
    for number in range(100, 160, 3):
        each = [publish(store, one, bytes([one]) * size) for one in range(number, number + 3)]
        for result in await asyncio.gather(*each, return_exceptions=True):
            told += isinstance(result, ClusterError) and "say it again" in str(result)
            turns += isinstance(result, BundleHead)
        head = (await store.read()).head
        for found in head.bundles:
            held, one = await published.fetch(found), int(found.revision, 16)
            assert held == (bytes([one]) * size if one >= 100 else str(one).encode())
    assert told
    assert turns


async def test_what_a_publisher_left_half_way_is_written_over(
    store: BundleStore, published: PublishedBundles
) -> None:
    """Its claim keeps nobody out, and its bundle is not there."""
    before = await store.read()
    left = PublishedBundle("f" * 12, "", 0, 2)
    await store.write(before, msgspec.structs.replace(before.head, claim=left))
    for number in range(1, 9):
        head = await publish(store, number, str(number).encode())
        assert head.of("f" * 12) is None
        assert await published.fetch(head.bundles[-1]) == str(number).encode()


async def test_a_right_that_is_missing_is_named(cluster: Cluster) -> None:
    """With the way out: a gate of this release under the Role of the one before."""

    async def refuse(*_: object, **__: object) -> bytes:
        raise ClusterError("GET configmaps: 403 Forbidden", 403)

    cluster.get = refuse  # type: ignore[method-assign]
    settings = LiveSettings(namespace=NAMESPACE)
    found = PublishedBundles(cluster, settings, lambda: None)  # type: ignore[arg-type]
    with pytest.raises(ClusterError, match=r"403 Forbidden; its Role .*bring the Role of this rel"):
        await found.fetch(of(1))
    task = asyncio.create_task(found.run())
    try:
        async with asyncio.timeout(20):
            while "list and watch of the ConfigMap sallyport-b" not in found.problem:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    finally:
        task.cancel()


async def test_of_two_who_want_at_once_one_is_refused(store: BundleStore) -> None:
    """The head is written over what was read, and over nothing else."""
    before = await store.read()
    await publish(store, 1, b"one")
    with pytest.raises(ClusterError, match=r"say it again .exists"):
        await store.write(before, before.head)
    before = await store.read()
    await publish(store, 2, b"two")
    with pytest.raises(ClusterError, match=r"say it again .changed"):
        await store.write(before, before.head)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "was truncated"),
        ('{"format": 2}', "this release reads 1"),
        ('{"wanted": 1}', "Expected `str`"),
        (
            '{"bundles": [{"revision": "a", "digest": "b", "slot": 9, "parts": 1}]}',
            "no such slot",
        ),
        (
            '{"bundles": [{"revision": "a", "digest": "b", "slot": 0, "parts": 99}]}',
            "no such slot",
        ),
    ],
)
def test_a_broken_head_is_said_to_be(text: str, why: str) -> None:
    """And leaves what was known."""
    with pytest.raises(InvalidObjectError, match=why):
        decode_head(text)
    found = parse_head(json.dumps({"data": {HEAD_KEY: text}}).encode())
    assert isinstance(found, InvalidObjectError)
    assert HEAD_NAME in str(found)


def test_an_empty_head_is_that_of_nothing_published() -> None:
    """As one that somebody made by hand."""
    assert parse_head(b"{}") == BundleHead()


async def test_what_cannot_be_read_of_a_gate_has_loaded_nothing(
    store: BundleStore, cluster: Cluster
) -> None:
    """It is waited for: no place is no gate."""
    assert await store.gates() is None
    await store.create_announcements()
    said = GateAnnouncement("base", "r", ("base",), beat=7)
    data = {"gate-0": msgspec.json.encode(said).decode(), "gate-1": "{"}
    cluster.kept[f"{PATH}/{GATES_NAME}"]["data"] = data
    assert await store.gates() == {"gate-0": said, "gate-1": GateAnnouncement("", "")}
