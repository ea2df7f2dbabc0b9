"""How many Pods fit: exact for identical ones, never too few for several templates."""

import itertools
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InvalidObjectError
from core.sandbox.capacity import (
    UNLIMITED,
    Capacity,
    NodeShape,
    PodBatch,
    Taint,
    Toleration,
    count_fitting,
    count_fitting_together,
    decode_capacity,
    encode_capacity,
    largest_allocatable,
)

TAINT = Taint("pool", "NoSchedule", "gpu")
AMOUNTS = st.fixed_dictionaries(
    {}, optional={"cpu": st.integers(0, 9), "memory": st.integers(0, 9), "pods": st.integers(0, 3)}
)
SHAPES = st.builds(
    NodeShape,
    count=st.integers(0, 3),
    allocatable=AMOUNTS,
    free=AMOUNTS,
    taints=st.sampled_from([(), (TAINT,)]),
)
CAPACITIES = st.builds(
    Capacity,
    as_of=st.floats(0, 2e9),
    nodes=st.integers(0, 9),
    shapes=st.lists(SHAPES, max_size=3).map(tuple),
    left_out=st.dictionaries(st.sampled_from(["cordoned", "not-ready"]), st.integers(0, 3)),
)
DEMANDS = st.fixed_dictionaries(
    {"pods": st.just(1)}, optional={"cpu": st.integers(0, 4), "memory": st.integers(0, 4)}
)
TOLERATIONS = st.sampled_from([(), (Toleration(operator="Exists"),)])


def nodes_of(capacity: Capacity) -> list[tuple[dict[str, int], bool]]:
    """Return what is free on each node, and whether it is tainted."""
    shapes = ([(dict(s.free), bool(s.taints))] * s.count for s in capacity.shapes)
    return [(dict(free), tainted) for free, tainted in itertools.chain(*shapes)]


def place(free: dict[str, int], demand: dict[str, int]) -> dict[str, int] | None:
    """Put a Pod onto a node, as a scheduler would; None where it does not fit."""
    left = {r: free.get(r, 0) - value for r, value in demand.items() if value}
    return {**free, **left} if all(value >= 0 for value in left.values()) else None


def packed(capacity: Capacity, pods: list[PodBatch]) -> int:
    """Place Pods one after another, trying every node for each: the most that can be placed."""
    best = 0
    seen = set()
    stack = [(nodes_of(capacity), 0, 0)]
    while stack:
        nodes, at, placed = stack.pop()
        best = max(best, placed)
        key = (at, placed, tuple(sorted((tuple(sorted(f.items())), t) for f, t in nodes)))
        if at == len(pods) or key in seen:
            continue
        seen.add(key)
        stack.append((nodes, at + 1, placed))
        for index, (free, tainted) in enumerate(nodes):
            left = place(free, dict(pods[at].demand))
            if left is not None and (pods[at].tolerations or not tainted):
                after = [*nodes[:index], (left, tainted), *nodes[index + 1 :]]
                stack.append((after, at + 1, placed + 1))
    return best


@given(CAPACITIES, DEMANDS, TOLERATIONS)
def test_identical_pods_are_counted_exactly(
    capacity: Capacity, demand: dict[str, int], tolerations: tuple[Toleration, ...]
) -> None:
    """As many as can be put onto the nodes one after another, wherever there is room."""
    placed = 0
    for free, tainted in nodes_of(capacity):
        here: dict[str, int] | None = free
        while not (tainted and not tolerations) and (here := place(here or {}, demand)) is not None:
            placed += 1
    assert count_fitting(capacity, demand, tolerations) == placed


@given(
    st.builds(
        Capacity,
        as_of=st.just(0.0),
        nodes=st.just(0),
        shapes=st.lists(SHAPES, max_size=2).map(tuple),
    ),
    st.lists(
        st.builds(PodBatch, count=st.integers(0, 2), demand=DEMANDS, tolerations=TOLERATIONS),
        min_size=1,
        max_size=3,
    ),
)
def test_several_templates_never_fit_less_than_they_do(
    capacity: Capacity, wants: list[PodBatch]
) -> None:
    """The best that any scheduler can do is never more than what is said."""
    pods = [want for want in wants for _ in range(want.count)]
    assert count_fitting_together(capacity, wants) >= packed(capacity, pods)


def test_several_templates_share_what_there_is() -> None:
    """Each alone would fit; what both take is not there."""
    shape = NodeShape(4, {"gpu": 8, "pods": 99}, {"gpu": 8, "pods": 99})
    capacity = Capacity(0, 4, (shape,))
    wants = [PodBatch(4, {"gpu": 8, "pods": 1}), PodBatch(4, {"gpu": 4, "pods": 1})]
    assert [count_fitting(capacity, want.demand, ()) for want in wants] == [4, 8]
    assert count_fitting_together(capacity, wants) == 6
    assert count_fitting_together(capacity, wants[:1]) == 4


@given(CAPACITIES, DEMANDS)
def test_more_asked_never_fits_more(capacity: Capacity, demand: dict[str, int]) -> None:
    """Of any resource."""
    before = count_fitting(capacity, demand, ())
    for resource in ("cpu", "memory", "pods"):
        more = {**demand, resource: demand.get(resource, 0) + 1}
        assert count_fitting(capacity, more, ()) <= before


def test_what_asks_for_nothing_fits_always() -> None:
    """Never less than anybody wants, and nothing where there is no node."""
    assert count_fitting(Capacity(0, 1, (NodeShape(1, {}, {}),)), {"cpu": 0}, ()) == UNLIMITED
    assert count_fitting(Capacity(0, 0, ()), {}, ()) == 0


def test_empty_nodes_have_more() -> None:
    """What is free, and what there is when nothing runs."""
    capacity = Capacity(0, 2, (NodeShape(2, {"cpu": 9, "pods": 9}, {"cpu": 1, "pods": 1}),))
    demand = {"cpu": 2, "pods": 1}
    assert (
        count_fitting(capacity, demand, ()),
        count_fitting(capacity, demand, (), of="allocatable"),
    ) == (0, 8)
    assert (largest_allocatable(capacity, "cpu", ()), largest_allocatable(capacity, "gpu", ())) == (
        9,
        0,
    )


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        (Toleration(), False),
        (Toleration(operator="Exists"), True),
        (Toleration("pool", "Exists"), True),
        (Toleration("pool", "Exists", effect="NoExecute"), False),
        (Toleration("pool", None, "gpu", "NoSchedule"), True),
        (Toleration("pool", "Equal", "cpu"), False),
        (Toleration("other", "Exists"), False),
        (Toleration("pool", "Gt", "5"), True),
        (Toleration("other", "Gt", "5"), False),
    ],
)
def test_tolerations_as_kubernetes_matches_them(toleration: Toleration, *, tolerates: bool) -> None:
    """k8s.io/api core/v1 toleration.go; what compares numbers is taken for yes."""
    assert toleration.tolerates(TAINT) is tolerates


def test_summaries_of_every_release_are_read() -> None:
    """`golden/capacity-N.json` is one of format N; the newest is written so."""
    text = (Path(__file__).parent / "golden" / "capacity-1.json").read_text().strip()
    plain = NodeShape(
        2,
        {"cpu": 4000, "memory": 16 << 30, "pods": 110},
        {"cpu": 1500, "memory": 16 << 30, "pods": 109},
    )
    taints = (Taint("team", "NoSchedule", "a"),)
    tainted = NodeShape(1, {"cpu": 4000, "nvidia.com/gpu": 8}, {"nvidia.com/gpu": 4}, taints)
    left_out = {"cordoned": 1, "not-ready": 2}
    capacity = Capacity(1_800_014_400.5, 3, (plain, tainted), left_out)
    assert decode_capacity(text, "it") == capacity
    assert encode_capacity(capacity) == text


@given(CAPACITIES)
def test_a_summary_is_read_as_it_was_written(capacity: Capacity) -> None:
    """Every number of it."""
    assert decode_capacity(encode_capacity(capacity), "it") == capacity


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"format": 3}, "format"),
        ({"nodes": -1}, "nodes"),
        ({"asOf": 1e300}, "asOf"),
        ({"asOf": "now"}, "asOf"),
        ({"shapes": [{"count": 1, "allocatable": {"cpu": -1}, "free": {}}]}, "shapes[0]"),
        ({"shapes": [{"count": 1, "allocatable": {}, "free": {}}] * 1025}, "shapes"),
    ],
)
def test_a_broken_summary_names_the_field(changes: dict[str, object], field: str) -> None:
    """Of another format, with a number that cannot be, or too long."""
    written = msgspec.json.decode(encode_capacity(Capacity(1, 0, ())))
    with pytest.raises(InvalidObjectError) as caught:
        decode_capacity(msgspec.json.encode(written | changes).decode(), "it")
    assert caught.value.field.startswith(field)


@pytest.mark.parametrize("number", [0, 2])
def test_formats_of_the_neighbouring_releases_are_read(number: int) -> None:
    """Fields that come on top are skipped."""
    written = msgspec.json.decode(encode_capacity(Capacity(1, 0, ())))
    text = msgspec.json.encode(written | {"format": number, "zones": []}).decode()
    assert decode_capacity(text, "it") == Capacity(1, 0, ())
