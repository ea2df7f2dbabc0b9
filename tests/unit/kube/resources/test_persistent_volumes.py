"""Volumes are found by the claim that has them, however they come and go."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from core.kubernetes.persistent_volumes import PersistentVolume
from kube.resources.persistent_volumes import Volumes

NAMES = st.sampled_from(["a", "b", "c"])
CLAIMS = st.sampled_from(["", "x/1", "x/2", "y/1"])
SOURCES = st.sampled_from(["hostPath", "local", "csi", "nfs"])
EVENTS = st.lists(st.tuples(NAMES, CLAIMS, SOURCES, st.booleans()), max_size=30)


def stored(name: str, claim: str, source: str) -> bytes:
    """Return a PersistentVolume as kube-apiserver does."""
    spec: dict[str, object] = {source: {"path": f"/{name}"}}
    if claim:
        namespace, _, of = claim.partition("/")
        spec["claimRef"] = {"namespace": namespace, "name": of}
    return msgspec.json.encode({"metadata": {"name": name}, "spec": spec})


@given(events=EVENTS)
def test_the_claim_finds_the_volumes_that_it_has_now(
    events: list[tuple[str, str, str, bool]],
) -> None:
    """After each event: all volumes of a node that name the claim, and no others."""
    volumes, now = Volumes(), dict[str, PersistentVolume]()
    for name, claim, source, gone in events:
        if gone:
            now.pop(name, None)
        else:
            now[name] = volumes.read(stored(name, claim, source))
        volumes.take(now)
        for asked in ("x/1", "x/2", "y/1"):
            having = [v for v in now.values() if v.claim == asked and "hostPath" in v.types]
            assert volumes.node_volumes_of(asked) == tuple(sorted(having, key=lambda v: v.name))
        assert volumes.named(name) == now.get(name)


@given(events=EVENTS)
def test_a_claim_is_shared_where_its_volume_is_or_may_be(
    events: list[tuple[str, str, str, bool]],
) -> None:
    """After each event: an NFS volume of the claim; or any that is nobody's, where it has none."""
    volumes, now = Volumes(), dict[str, PersistentVolume]()
    for name, claim, source, gone in events:
        if gone:
            now.pop(name, None)
        else:
            now[name] = volumes.read(stored(name, claim, source))
        volumes.take(now)
        free = any(each.shared and not each.claim for each in now.values())
        for asked in ("x/1", "x/2", "y/1"):
            having = [each for each in now.values() if each.claim == asked]
            expected = any(each.shared for each in having) if having else free
            assert volumes.shares(asked) == expected


def test_a_volume_that_is_being_listed_is_not_forgotten() -> None:
    """Somebody asks between two pages of a list: afterwards it counts all the same."""
    volumes = Volumes()
    read = volumes.read(stored("nobodys", "", "nfs"))
    assert not volumes.shares("x/1")
    volumes.take({"nobodys": read})
    assert volumes.shares("x/1")
