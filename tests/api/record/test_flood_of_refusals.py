"""A gate and an auditor under forged refusals: each is kept or counted, and others are recorded."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.api.record.load import wait_until_shipped
from tests.harness.load.reviews import pod_review, post
from tests.harness.programs.recorded_gate import Recorded
from tests.harness.worlds.pods import RESTRICTED

FORGED = 200


async def _flood(target: Recorded) -> tuple[list[bool], dict[str, Any]]:
    """Send forged refusals under made-up names, then an honest Pod."""
    ca = target.certificates.ca.read_bytes()
    answers = []
    for number in range(FORGED):
        made = RESTRICTED.pod()
        made["spec"]["volumes"] = [
            {"name": f"v-{n}", "hostPath": {"path": f"/{number}/{n}"}} for n in range(20)
        ]
        _, answer = await post(target.url, pod_review(made, "train", f"nobody-{number}"), ca)
        answers.append(answer["response"]["allowed"])
    _, honest = await post(target.url, pod_review(RESTRICTED.pod(), "train", "alice"), ca)
    return answers, honest["response"]


def test_each_forged_refusal_is_kept_or_counted(tmp_path: Path) -> None:
    """The honest decision is in the ledger, and the sum of records and counts is what was sent."""
    target = Recorded(tmp_path)
    target.start_auditor()
    target.start_gate()
    try:
        answers, honest = asyncio.run(_flood(target))
        counted = target.metric("gate", "sallyport_aggregated_refusals_total")
        wait_until_shipped(target, 60)
    finally:
        target.stop()
    assert not any(answers)
    assert honest["allowed"]
    assert honest["auditAnnotations"]["decision"].replace("-", "") in target.stored()
    with closing(sqlite3.connect(target.database)) as connection:
        refused = connection.execute("SELECT count(*) FROM decisions WHERE NOT allowed").fetchone()
        rows = connection.execute("SELECT document FROM aggregates").fetchall()
    aggregates = [json.loads(row[0]) for row in rows]
    assert sum(each["count"] for each in aggregates) == counted > 0
    assert refused[0] + counted == FORGED
    assert {each.get("requester", "") for each in aggregates} == {""}
