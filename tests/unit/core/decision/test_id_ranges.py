"""A namespace's IDs are read as OpenShift's annotations are, and nothing unclear gives any.

Cases: TestParseSupplementalGroupAnnotation, TestGetPreallocatedFSGroup and
TestGetPreallocatedSupplementalGroups of openshift/apiserver-library-go
(pkg/securitycontextconstraints/sccmatching/matcher_test.go), and the values that OpenShift writes.
"""

import pytest

from core.base.errors import NamespaceMarkError
from core.decision.id_ranges import IdBlock, IdRanges, parse_id_ranges

USERS = "sallyport.dev/uid-range"
GROUPS = "sallyport.dev/supplemental-groups"


@pytest.mark.parametrize(
    ("written", "blocks"),
    [
        ("1/5", [(1, 5)]),
        ("1-5", [(1, 5)]),
        ("1/5,6/5,11/5", [(1, 5), (6, 10), (11, 15)]),
        ("1-5,6-10,11-15", [(1, 5), (6, 10), (11, 15)]),
        ("1000680000/10000", [(1000680000, 1000689999)]),
        ("50000/50000", [(50000, 99999)]),
        ("7/1", [(7, 7)]),
        ("1/5, 6/5", [(1, 5), (6, 10)]),
    ],
)
def test_groups_are_read(written: str, blocks: list[tuple[int, int]]) -> None:
    """Blocks by their count or their last ID, several with commas between."""
    found = parse_id_ranges("train", {GROUPS: written})
    assert found == IdRanges((), tuple(IdBlock(*each) for each in blocks))


def test_users_stand_for_groups_where_groups_are_absent() -> None:
    """As in OpenShift; an annotation of groups is taken instead."""
    block = (IdBlock(1, 5),)
    assert parse_id_ranges("train", {USERS: "1/5"}) == IdRanges(block, block)
    both = parse_id_ranges("train", {USERS: "1/5", GROUPS: "9/1"})
    assert both == IdRanges(block, (IdBlock(9, 9),))


def test_without_annotations_there_are_none() -> None:
    """Nor does OpenShift's own annotation give any: an operator says it for Sallyport."""
    assert parse_id_ranges("train", {}) is None
    assert parse_id_ranges("train", {"openshift.io/sa.scc.uid-range": "1/5"}) is None


@pytest.mark.parametrize("annotation", [USERS, GROUPS])
@pytest.mark.parametrize(
    "written",
    [
        "",
        "foo",
        "1",
        "1/",
        "/5",
        "1/0",
        "5-1",
        "0/5",
        "0-5",
        "1/5,",
        ",1/5",
        "1/5x",
        "1/5/5",
        "-1/5",
        "+1/5",
        "1.0/5",
        "١/5",
        "2147483647/2",
        "1/4294967296",
        "99999999999/1",
        ",".join(["1/5"] * 33),
        "1/5," * 100_000,
    ],
)
def test_what_is_no_range_is_an_error(annotation: str, written: str) -> None:
    """It names the annotation and its form; also where OpenShift's parser lets it pass."""
    with pytest.raises(NamespaceMarkError) as error:
        parse_id_ranges("train", {annotation: written})
    said = str(error.value)
    assert said.startswith(f"Namespace train: metadata.annotations[{annotation}]: ")
    assert "FIRST/COUNT or FIRST-LAST, such as 1000680000/10000" in said
    assert len(said) < 400


def test_users_have_one_block() -> None:
    """Several would leave open which one is filled in."""
    with pytest.raises(NamespaceMarkError, match="must hold one block"):
        parse_id_ranges("train", {USERS: "1/5,6/5"})
