"""Nodes are read and summed up: shorter for a large pool, and never with less room."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from control.sandbox_capacity.node_shapes import (
    MOST_SHAPES,
    Usage,
    merge_shapes,
    read_node,
    sum_usage,
    summarize_nodes,
)
from core.base.errors import ClusterError
from core.sandbox.capacity import (
    Capacity,
    NodeShape,
    Taint,
    Toleration,
    count_fitting,
    encode_capacity,
)
from tests.unit.admission.world import raw
from tests.unit.control.sandbox_capacity.test_sandbox_capacity import Json, node


@pytest.mark.parametrize(
    "broken",
    [{"metadata": {}}, {**node("a"), "spec": []}, node("a", cpu="many"), {"metadata": 1}],
)
def test_what_is_no_node_ends_the_run(broken: Json) -> None:
    """kube-apiserver never says it; nothing is written then."""
    with pytest.raises(ClusterError, match="an item is no Node"):
        read_node(raw(broken))


def test_what_is_no_pod_ends_the_run() -> None:
    """A Pod that was not counted would leave room that there is not."""
    with pytest.raises(ClusterError, match="an item is no Pod"):
        sum_usage([raw({"spec": {"containers": 1}})])


TAINTS = [(), (Taint("a", "NoSchedule"),), (Taint("b", "NoSchedule"),)]
AMOUNTS = st.fixed_dictionaries({}, optional={r: st.integers(0, 2**62) for r in ("cpu", "gpu")})
SHAPES = st.lists(
    st.builds(NodeShape, st.integers(1, 3), AMOUNTS, AMOUNTS, st.sampled_from(TAINTS)), max_size=12
)


@given(SHAPES, st.integers(1, 8), AMOUNTS, st.sampled_from(["free", "allocatable"]))
def test_a_coarser_summary_never_has_less_room(
    shapes: list[NodeShape], most: int, demand: dict[str, int], of: Any
) -> None:
    """Nobody is warned without need; and no node is lost or won."""
    shapes = [msgspec.structs.replace(s, allocatable={**s.free, **s.allocatable}) for s in shapes]
    coarse = merge_shapes(shapes, most)
    assert len(coarse) <= most
    assert sum(s.count for s in coarse) == sum(s.count for s in shapes)
    asked = {"pods": 0, **demand}
    for tolerations in ((), (Toleration("a", "Exists"),)):
        exact = count_fitting(Capacity(0, 0, tuple(shapes)), asked, tolerations, of=of)
        assert count_fitting(Capacity(0, 0, coarse), asked, tolerations, of=of) >= exact


@given(SHAPES)
def test_where_there_is_room_for_all_nothing_is_lost(shapes: list[NodeShape]) -> None:
    """Shapes that differ stay apart, those that do not become one; in whatever order they come."""
    shapes = [
        NodeShape(s.count, {**s.free, **s.allocatable, "x": 1}, {**s.free, "x": 1}, s.taints)
        for s in shapes
    ]
    different = {
        encode_capacity(Capacity(0, 0, (msgspec.structs.replace(s, count=1),)))
        for s in merge_shapes(shapes, 99)
    }
    assert len(different) == len(merge_shapes(shapes, 99))
    assert merge_shapes(shapes[::-1], 99) == merge_shapes(shapes, 99)
    demand = {"x": 1, "cpu": 3}
    wanted = count_fitting(Capacity(0, 0, tuple(shapes)), demand, ())
    assert count_fitting(Capacity(0, 0, merge_shapes(shapes, 99)), demand, ()) == wanted


def test_a_pool_of_any_size_is_short() -> None:
    """7,500 nodes, all different, are 128 shapes of less than 40 KB."""
    nodes, usages = [], {}
    for n in range(7500):
        nodes.append(read_node(raw(node(f"n{n}", memory=f"{8_000_000 + n}Ki", gpu="8"))))
        used = {"cpu": 17 * n % 4000, "memory": 991 * n % 2**32, "gpu": n % 9, "pods": n % 40}
        usages[f"n{n}"] = Usage("", 0, used)
    found = summarize_nodes(nodes, usages, (), 0)
    assert (len(found.shapes), found.nodes) == (MOST_SHAPES, 7500)
    assert len(encode_capacity(found)) < 40_000
    exact = summarize_nodes(nodes, usages, (), 0, most=7500)
    demand = {"cpu": 500, "memory": 1 << 30, "gpu": 1, "pods": 1}
    assert 1 <= count_fitting(found, demand, ()) / count_fitting(exact, demand, ()) < 1.25
