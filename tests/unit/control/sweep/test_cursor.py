"""How far a sweep has come survives being written down, fits, and is never taken from elsewhere."""

import base64
import random
import zlib
from typing import Any

import msgspec
import pytest

from control.sweep.cursor import MOST_BYTES, Cursor, decode_cursor, encode_cursor
from control.sweep.progress import (
    MOST_RESULTS,
    MOST_UNWRITTEN,
    Progress,
    count_judged,
    count_unwritten,
    document_of,
    enter,
)
from control.sweep.results import result_of
from core.base.errors import InvalidObjectError
from core.decision.decision import Verdict
from tests.unit.control.sweep.sample_pods import SWEEP, decision, finding, listed

CLUSTER = "c"


def full(seed: int = 0) -> Progress:
    """Return a progress that is as large as it gets: noise in every text, which packs badly."""
    rng = random.Random(seed)  # noqa: S311 -- must repeat, need not be secret

    def noise() -> str:
        return "".join(chr(rng.randrange(0x80, 0x2FFF)) for _ in range(600))

    progress, _ = enter(Progress(sweep=SWEEP, token=noise()), "n" * 63)
    for _ in range(MOST_UNWRITTEN + 1):
        progress = count_unwritten(progress, f"{rng.getrandbits(250):063x}")
    owners = [noise() for _ in range(MOST_RESULTS)]
    for number in range(2 * MOST_RESULTS):
        bad = finding(noise(), path=noise(), message=noise(), privilege=noise())
        pod = listed(noise(), f"{number:036d}", owner=owners[number % MOST_RESULTS])
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


def test_what_is_stored_at_its_fullest_can_be_read_again() -> None:
    """It takes less than half of what is read: a later release may store more."""
    assert len(msgspec.json.encode(Cursor(cluster=CLUSTER, running=full()))) < MOST_BYTES // 2


def packed(content: bytes) -> dict[str, Any]:
    """Return a ConfigMap with such a cursor."""
    return {"binaryData": {"cursor": base64.b64encode(zlib.compress(content)).decode()}}


def written(**more: Any) -> dict[str, Any]:
    """Return a ConfigMap with fields of a cursor changed."""
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


def finished(**more: Any) -> dict[str, Any]:
    """Return a ConfigMap with fields of the last sweep's document changed."""
    document = document_of(Progress(sweep=SWEEP), CLUSTER, 1763731100.5)
    return written(last=msgspec.to_builtins(document) | more)


def running(**more: Any) -> dict[str, Any]:
    """Return a ConfigMap with a sweep under way."""
    return written(running={"sweep": SWEEP} | more)


BEYOND_TIMES = "ffffffff-ffff-7000-8000-000000000000"
"""UUIDv7 of the year 10889, which RFC 3339 cannot write."""


@pytest.mark.parametrize("body", [running(), finished()], ids=["running", "finished"])
def test_what_is_in_order_is_read(body: dict[str, Any]) -> None:
    """The cases of the next test differ from these in one field."""
    assert decode_cursor(body, CLUSTER).cluster == CLUSTER


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (running(sweep="zz"), "running.sweep.*no UUID"),
        (running(sweep=""), "running.sweep.*no UUID"),
        (running(sweep=SWEEP.upper()), "running.sweep.*no UUID"),
        (running(sweep=SWEEP.replace("-", "")), "running.sweep.*no UUID"),
        (running(sweep=SWEEP.replace("-791c", "-491c")), "running.sweep.*no UUID"),
        (running(sweep=BEYOND_TIMES), "running.sweep.*no.* time"),
        (running(token="t" * 2049), "cannot be read"),
        (running(interruptions=-1), "cannot be read"),
        (running(verdicts={"deny": 2**53}), "cannot be read"),
        (running(passed_over={str(number): 1 for number in range(17)}), "cannot be read"),
        (running(current={"namespace": "../secrets/x?"}), "cannot be read"),
        (running(current={"namespace": "a\n"}), "cannot be read"),
        (running(current={"namespace": ""}), "cannot be read"),
        (running(unwritten_in=["a"] * 101), "cannot be read"),
        (finished(id="zz"), "last.id.*no UUID"),
        (finished(id=BEYOND_TIMES), "last.id.*no.* time"),
        (finished(started="yesterday"), "last.started.*no.* time"),
        (finished(finished=""), "last.finished.*no.* time"),
        (finished(finished="2025-11-21T13:18:20"), "last.finished.*no.* time"),
        (finished(verdicts={"deny": 10**400}), "last: has a count"),
        (finished(objects=-1), "last: has a count"),
        (finished(sandboxMissing=-1), "last: has a count"),
    ],
)
def test_what_could_stop_a_sweep_is_refused(body: dict[str, Any], problem: str) -> None:
    """Whoever may write the ConfigMap cannot make each sweep fail where it goes on."""
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
