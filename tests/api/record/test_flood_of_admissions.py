"""A gate whose auditor is away, and admissions of one tenant without end: others go on."""

import asyncio
import copy
import hashlib
from pathlib import Path
from typing import Any, Final

from audit.ledger.records.frames import FrameKind
from audit.ledger.spool.queue import Spool, SpoolSettings
from tests.api.record.load import wait_until_shipped
from tests.harness.load.reviews import pod_review, post
from tests.harness.programs.recorded_gate import Recorded
from tests.harness.worlds.pods import RESTRICTED
from tests.unit.audit.ledger.spool.spools import wait_until

SPOOL: Final = 64 * 1024 * 1024
"""The smallest that may be set."""

CONTAINERS: Final = 128
MOST: Final = 1000


def fill_half(folder: Path) -> None:
    """Leave a spool that is nearly half full, as a former process may."""
    content = b'{"containers":[%b]}' % (b" " * 60_000)
    spool = Spool(folder, SpoolSettings(max_bytes=SPOOL))
    spool.open()
    try:
        while spool.fill < 0.49:
            spool.append(FrameKind.PROJECTION, hashlib.sha256(content).digest(), content)
            if spool.status().appended % 100 == 0:
                wait_until(lambda: spool.settled)
    finally:
        assert spool.close(60.0) == 0


def large_pod(number: int) -> dict[str, Any]:
    """Return a Pod that is admitted, whose record has some 70 KB, and that is like no other."""
    made = RESTRICTED.pod()
    (container, *_) = made["spec"]["containers"]
    made["spec"]["containers"] = [copy.deepcopy(container) for _ in range(CONTAINERS)]
    for at, each in enumerate(made["spec"]["containers"]):
        each["name"] = f"c-{number}-{at}"
        each["image"] = f"registry.example/{'x' * 100}/{number}/{at}"
    return made


async def _flood(target: Recorded) -> dict[str, Any]:
    """Send admissions of `train` until one is refused; give that answer."""
    ca = target.certificates.ca.read_bytes()
    for number in range(MOST):
        body = pod_review(large_pod(number), "train", "mallory")
        _, answer = await post(target.url, body, ca)
        if not (response := answer["response"])["allowed"]:
            return dict(response)
    raise AssertionError("nothing was refused")


async def _create(target: Recorded, namespace: str) -> dict[str, Any]:
    ca = target.certificates.ca.read_bytes()
    _, answer = await post(target.url, pod_review(RESTRICTED.pod(), namespace, "alice"), ca)
    return dict(answer["response"])


def test_one_tenant_cannot_use_up_the_spool(tmp_path: Path) -> None:
    """It is refused by an error; another namespace's decision reaches the ledger afterwards."""
    target = Recorded(tmp_path)
    fill_half(target.spool)
    target.start_gate({"SALLYPORT_SPOOL__MAX_BYTES": str(SPOOL)})
    try:
        refused = asyncio.run(_flood(target))
        other = asyncio.run(_create(target, "evals"))
        held = target.metric("gate", "sallyport_spool_bytes")
        over = target.metric("gate", "sallyport_admissions_over_share_total")
        full = target.metric("gate", "sallyport_spool_full")
        target.start_auditor()
        wait_until_shipped(target, 120)
        again = asyncio.run(_create(target, "train"))
    finally:
        target.stop()
    assert refused["status"]["code"] == 500
    assert "have their share of the rest" in refused["status"]["message"]
    assert other["allowed"], other
    assert (over, full) == (1.0, 0.0)
    assert SPOOL * 0.6 < held < SPOOL * 0.7
    assert again["allowed"], again
    stored = target.stored()
    for answer in (other, again):
        assert answer["auditAnnotations"]["decision"].replace("-", "") in stored
