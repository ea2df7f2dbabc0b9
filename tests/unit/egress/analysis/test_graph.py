"""`egress graph`: who may reach what, and the SVG of it."""

import re
from dataclasses import replace
from ipaddress import ip_address
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from core.base import names
from core.decision.namespaces import Namespace
from egress.analysis.graph import DNS, EVERYWHERE, Edge, EgressGraph, Node, build_graph
from egress.analysis.graph_svg import render_svg, width_of
from tests.unit.egress.allowlist_objects import allowlist
from tests.unit.egress.analysis.small_clusters import pod, world

NET = {"cidr": "192.0.2.0/24"}
SVG = "{http://www.w3.org/2000/svg}"


def _picture(**more: object) -> EgressGraph:
    found = world(
        allowlist(NET, {"pods": {"namespace": "data"}}, {"dnsName": "packages.example.org"}),
        pods=[
            pod("train-0"),
            pod("idle-0", "idle"),
            pod("host-0", host_network=True),
            pod("old-0", labels={}),
            pod("c-0", "c", "data", addresses=(ip_address("10.244.1.30"),)),
        ],
        **more,  # type: ignore[arg-type]
    )
    return build_graph(found, ["research", "data"])


def test_intents_and_what_comes_with_them_are_told_apart() -> None:
    """Said by intents; and through Pods elsewhere, nodes' networks and DNS, which nobody said."""
    picture = _picture()
    said = {(each.source, each.target) for each in picture.edges if each.said}
    assert said == {
        ("subject research/trainer", "192.0.2.0/24 TCP 443"),
        ("subject research/trainer", "every Pod of data TCP 443"),
        ("subject research/trainer", "packages.example.org TCP 443"),
    }
    around = {(each.source, each.target) for each in picture.edges if not each.said}
    assert around == {
        ("every Pod of data TCP 443", EVERYWHERE),
        ("beside research", EVERYWHERE),
        ("subject research/trainer", DNS),
        (DNS, EVERYWHERE),
    }
    assert picture.left_out == ["data"]


def test_engine_that_filters_names_closes_the_way_by_dns() -> None:
    """DNS leads nowhere else then."""
    edges = {(each.source, each.target) for each in _picture(engine="cilium").edges}
    assert (DNS, EVERYWHERE) not in edges


def test_accounts_that_reach_nothing_are_drawn() -> None:
    """So that nobody looks for them in vain."""
    closed = {each.text for each in _picture().nodes if each.kind == "closed"}
    assert closed == {"research/idle", "research: old-0"}


def test_edges_say_which_intent_it_is() -> None:
    """With its owner, reason and end."""
    edge = next(each for each in _picture().edges if each.said)
    assert "research/pypi spec.to[0]: packages (owner research-platform, until" in edge.why


words = st.text(min_size=1, max_size=80)


@st.composite
def pictures(draw_: st.DrawFn) -> EgressGraph:
    """Make pictures with any words in them."""
    left = draw_(st.lists(words, min_size=1, max_size=12, unique=True))
    right = draw_(st.lists(words, min_size=1, max_size=12, unique=True))
    nodes = [Node(f"s{text}", "subject", 0, "ns", text, "1 Pod") for text in left]
    nodes += [Node(f"t{text}", "network", 1, "Addresses", text, "TCP 1") for text in right]
    ends = st.tuples(st.sampled_from(left), st.sampled_from(right))
    edges = [
        Edge(f"s{one}", f"t{other}", said=True, why=one)
        for one, other in draw_(st.lists(ends, max_size=20))
    ]
    return EgressGraph(1, "networkpolicy", nodes, edges, [])


@given(pictures())
def test_drawing_is_sound(picture: EgressGraph) -> None:
    """XML whatever the words are; no script, nothing from elsewhere; no box lies on another."""
    text = render_svg(picture)
    root = ET.fromstring(text)  # noqa: S314 (our own text)
    assert not list(root.iter(f"{SVG}script"))
    bare = re.sub(r"<(title|text).*?</\1>", "", text, flags=re.DOTALL)
    assert not re.search(r"(href|url\(|@import)", bare)
    boxes = [
        tuple(float(each.attrib[key]) for key in ("x", "y", "width", "height"))
        for each in root.iter(f"{SVG}rect")
        if each.attrib.get("class") != "back"
    ]
    assert len(boxes) == len(picture.nodes)
    for index, (x, y, width, height) in enumerate(boxes):
        assert x >= 0
        assert x + width <= float(root.attrib["width"])
        assert y + height <= float(root.attrib["height"])
        for x2, y2, width2, height2 in boxes[:index]:
            apart = x + width <= x2 or x2 + width2 <= x or y + height <= y2 or y2 + height2 <= y
            assert apart
    titles = [each for each in root.iter(f"{SVG}path") if each.find(f"{SVG}title") is not None]
    assert len(titles) == len(picture.edges)


def test_same_picture_same_bytes() -> None:
    """So that it can be kept in a repository."""
    assert render_svg(_picture()) == render_svg(_picture())


def test_wide_letters_take_more_room() -> None:
    """Boxes are as wide as their words."""
    assert width_of("mmmm") > width_of("llll")


def test_pods_that_an_audited_namespace_does_not_close_are_open() -> None:
    """They are drawn as connecting everywhere, and none of them as reaching nothing."""
    found = world(
        allowlist({"cidr": "192.0.2.0/24"}), pods=[pod("train-0"), pod("b", "batch")], enrolled=()
    )
    marked = Namespace(
        "research",
        {names.EGRESS_LABEL: "audit"},
        {names.EGRESS_WORKLOADS_ANNOTATION: "Job/train-0"},
    )
    snapshot = replace(found.snapshot, namespaces={"research": marked})
    picture = build_graph(found.with_snapshot(snapshot, found.rights), ["research"])
    texts = {node.text: node.below for node in picture.nodes}
    assert texts["research: Pods of other workloads"] == "audited, and not closed"
    assert "research/batch" not in texts
    assert any(edge.source == "open research" for edge in picture.edges)
