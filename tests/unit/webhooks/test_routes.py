"""What comes back over HTTPS from `/validate`, `/mutate` and anything else."""

import asyncio
import json

import pytest

from core.base import names
from tests.unit.webhooks.gate import Gate
from tests.unit.webhooks.reviews import encode, review

GOOD, BAD = encode(review()), encode(review(bad=True))
CANARY = "canary"


async def test_good_is_admitted_and_bad_refused(gate: Gate) -> None:
    """The judge's decision arrives, on one connection that stays open."""
    connection = await gate.connect()
    good = await connection.post("/validate?timeout=10s", GOOD)
    bad = await connection.post("/validate?timeout=10s", BAD)
    assert (good.status, good.response["allowed"], good.closes) == (200, True, False)
    assert (bad.status, bad.response["status"]["code"]) == (200, 403)
    assert good.headers["content-type"] == "application/json"
    assert "server" not in good.headers
    await connection.close()


async def test_only_mutation_patches(gate: Gate) -> None:
    """The same review is patched by `/mutate` and not by `/validate`."""
    assert "patch" in (await gate.post("/mutate", GOOD)).response
    assert "patch" not in (await gate.post("/validate", GOOD)).response


async def test_the_probe_is_refused_and_judges_nothing(gate: Gate) -> None:
    """A refusal that silence cannot give; it counts as no review, for "nobody asks" to be seen."""
    answer = await gate.post("/probe", GOOD)
    assert (answer.status, answer.response["allowed"]) == (200, False)
    assert answer.response["uid"] == review()["request"]["uid"]
    status = answer.response["status"]
    assert (status["code"], status["message"]) == (403, names.PROBE_ANSWER)
    assert gate.judge.budgets == []
    assert "sallyport_admissions_total{" not in await gate.scrape()


async def test_the_judge_gets_the_callers_time_less_a_margin(gate: Gate) -> None:
    """`?timeout=2s` leaves 1.8 s, less what was already spent."""
    await gate.post("/validate?timeout=2s", GOOD)
    await gate.post("/validate", GOOD)
    assert gate.judge.budgets[0] == pytest.approx(1.8, abs=0.1)
    assert gate.judge.budgets[1] == pytest.approx(9, abs=0.1)


async def test_a_judge_that_overruns_is_cut_off_in_time(gate: Gate) -> None:
    """It is not waited for: the answer refuses. How long it had, the test above says."""
    gate.judge.delay = 60
    start = asyncio.get_running_loop().time()
    answer = await gate.post("/validate?timeout=1s", GOOD)
    assert asyncio.get_running_loop().time() - start < gate.judge.delay / 2
    assert answer.response["allowed"] is False
    assert answer.response["status"]["code"] == 500
    assert 'sallyport_errors_total{kind="deadline"} 1.0' in await gate.scrape()


async def test_an_unforeseen_error_refuses_validation(gate: Gate) -> None:
    """Inside an AdmissionReview, so that it holds under `failurePolicy: Ignore` as well."""
    gate.judge.error = KeyError("canary-value")
    answer = await gate.post("/validate", GOOD)
    assert (answer.status, answer.response["allowed"]) == (200, False)
    assert answer.response["status"]["code"] == 500
    assert CANARY not in answer.body.decode()
    line = next(line for line in gate.lines() if line["event"] == "judging failed")
    assert (line["error"], line["level"]) == ("KeyError", "error")
    assert any("tests/unit/webhooks/judge.py" in frame for frame in line["frames"])
    assert CANARY not in gate.text()


async def test_an_unforeseen_error_leaves_mutation_to_the_failure_policy(gate: Gate) -> None:
    """A plain 500, which kube-apiserver does not repeat since there is no Retry-After."""
    gate.judge.error = KeyError("canary-value")
    answer = await gate.post("/mutate", GOOD)
    assert answer.status == 500
    assert "retry-after" not in answer.headers
    assert CANARY not in answer.body.decode()


async def test_nothing_is_judged_before_all_is_loaded(gate: Gate) -> None:
    """A 503 that kube-apiserver repeats, naming what is missing."""
    gate.judge.lacks.append("the policy bundle is being compiled")
    for path in ("/validate", "/mutate", "/probe"):
        answer = await gate.post(path, GOOD)
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert json.loads(answer.body) == {
            "error": "not ready: the policy bundle is being compiled"
        }
    assert gate.judge.budgets == []


@pytest.mark.parametrize(
    ("request_line", "headers", "status"),
    [
        ("GET /validate", "", 405),
        ("PUT /validate", "", 405),
        ("POST /", "", 404),
        ("POST /validate/", "", 404),
        ("GET /metrics", "", 404),
        ("GET /readyz", "", 404),
        ("POST /validate", "Content-Type: text/plain\r\n", 415),
        ("POST /validate", "", 415),
        ("POST /validate", "Content-Type: application/json\r\n", 400),
        ("GET /probe", "", 405),
        ("POST /probe", "Content-Type: application/json\r\n", 400),
    ],
)
async def test_what_is_no_review_gets_a_4xx(
    gate: Gate, request_line: str, headers: str, status: int
) -> None:
    """Each says what to do instead."""
    connection = await gate.connect()
    raw = f"{request_line} HTTP/1.1\r\nHost: gate\r\n{headers}Content-Length: 0\r\n\r\n"
    answer = await connection.send(raw.encode())
    assert answer.status == status
    assert json.loads(answer.body)["error"]
    assert f'sallyport_rejected_bodies_total{{status="{status}"}} 1.0' in await gate.scrape()
    await connection.close()
