"""How far a sweep has come survives being written down, fits, and is never taken from elsewhere."""

import base64
import random
import zlib
from typing import Any

import msgspec
import pytest

from control.sweep.cursor import Cursor, decode_cursor, encode_cursor
from control.sweep.progress import MOST_RESULTS, Progress, count_judged, document_of, enter
from control.sweep.results import result_of
from core.decision import Verdict
from core.errors import InvalidObjectError
from tests.unit.control.sweep.made import SWEEP, decision, finding, listed

CLUSTER = "c"


def full(seed: int = 0) -> Progress:
    """Give a progress that is as large as it gets: noise in every text, which packs badly."""
    rng = random.Random(seed)  # noqa: S311 -- must repeat, need not be secret

    def noise() -> str:
        return "".join(chr(rng.randrange(0x80, 0x2FFF)) for _ in range(600))

    progress, _ = enter(Progress(sweep=SWEEP, token=noise()), "n" * 63)
    for number in range(MOST_RESULTS + 50):
        bad = finding(noise(), path=noise(), message=noise(), privilege=noise())
        pod = listed(noise(), f"{number:036d}", owner=noise())
        kept = result_of(pod, decision(Verdict.DENY, bad), lambda _: "critical")
        progress = count_judged(progress, Verdict.DENY, kept)
    return progress


def test_it_is_read_as_it_was_written() -> None:
    """With and without a finished sweep, at its beginning and at its fullest."""
    document = document_of(Progress(sweep=SWEEP), CLUSTER, 1763731100.5)
    for last in (None, document):
        for running in (None, Progress(sweep=SWEEP), full()):
            cursor = Cursor(cluster=CLUSTER, last=last, running=running)
            assert decode_cursor(encode_cursor(cursor), CLUSTER) == cursor


def test_the_largest_fits_into_a_configmap() -> None:
    """256 KiB at the most; etcd takes 1.5 MiB."""
    body = encode_cursor(Cursor(cluster=CLUSTER, running=full()))
    assert 100_000 < len(msgspec.json.encode(body)) < 256 * 1024


def packed(content: bytes) -> dict[str, Any]:
    """Give a ConfigMap with such a cursor."""
    return {"binaryData": {"cursor": base64.b64encode(zlib.compress(content)).decode()}}


def written(**more: Any) -> dict[str, Any]:
    """Give a ConfigMap with fields of a cursor changed."""
    cursor = {"format": 1, "cluster": CLUSTER, "last": None, "running": None}
    return packed(msgspec.json.encode(cursor | more))


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({}, "cannot be read"),
        ({"binaryData": None}, "cannot be read"),
        ({"binaryData": {"cursor": "%"}}, "cannot be read"),
        ({"binaryData": {"cursor": "AAAA"}}, "cannot be read"),
        (packed(b"{"), "cannot be read"),
        (packed(b"[" * 100_000), "cannot be read"),
        (packed(b" " * 2_000_000), "cut off, or too large"),
        (written(format=3), "has the format 3"),
        (written(cluster="d"), "another cluster"),
        (written(running={"sweep": 1}), "cannot be read"),
    ],
)
def test_what_is_damaged_or_foreign_is_refused(body: dict[str, Any], problem: str) -> None:
    """A sweep never goes on from what it cannot be sure of."""
    with pytest.raises(InvalidObjectError, match=problem):
        decode_cursor(body, CLUSTER)


def test_a_cursor_that_is_cut_off_is_refused() -> None:
    """At any byte."""
    whole = base64.b64decode(written()["binaryData"]["cursor"])
    for length in range(len(whole)):
        body = {"binaryData": {"cursor": base64.b64encode(whole[:length]).decode()}}
        with pytest.raises(InvalidObjectError):
            decode_cursor(body, CLUSTER)


def test_fields_of_a_later_release_are_skipped() -> None:
    """Release N reads N + 1."""
    assert decode_cursor(written(format=2, more=1), CLUSTER).cluster == CLUSTER
