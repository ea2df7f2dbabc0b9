"""Log lines, metrics and readiness tell operators of everything, and name nobody."""

from tests.unit.webhooks.gate import Gate
from tests.unit.webhooks.reviews import encode, review

GOOD, BAD = encode(review()), encode(review(bad=True))
CANARY = "canary"


async def test_one_line_tells_of_a_decision_and_names_nobody(gate: Gate) -> None:
    """The line has what finds the decision again; no user, group, extra, env or value."""
    await gate.post("/validate", BAD)
    line = next(line for line in gate.lines() if line["event"] == "decision")
    assert line["uid"] == "705ab4f5-6393-11e8-b7cc-42010a800002"
    assert line["id"].startswith("01999999")
    told = {key: line[key] for key in ("webhook", "operation", "kind", "namespace", "name")}
    assert told == {
        "webhook": "validate",
        "operation": "CREATE",
        "kind": "Pod",
        "namespace": "train",
        "name": "llama-0",
    }
    assert (line["verdict"], line["allowed"], line["mode"]) == ("deny", False, "enforce")
    assert line["rules"] == ["privileges/host/privileged"]
    assert line["subjects"] == ["user:0123456789abcdef"]
    assert line["ms"] > 0
    assert CANARY not in gate.text()


async def test_a_rejected_body_is_never_quoted(gate: Gate) -> None:
    """Neither in the log nor in the answer."""
    body = encode(review(operation="canary-operation", dryRun="canary"))
    answer = await gate.post("/validate", body)
    assert answer.status == 400
    assert CANARY not in answer.body.decode()
    gate.writer.flush()
    assert CANARY not in gate.text()
    assert gate.lines()[-1]["event"] == "request rejected"


async def test_a_flood_of_rejected_bodies_does_not_flood_the_log(gate: Gate) -> None:
    """All are counted; a line comes once a second."""
    connection = await gate.connect()
    for _ in range(50):
        assert (await connection.post("/validate", b"{}")).status == 400
    assert 'sallyport_rejected_bodies_total{status="400"} 50.0' in await gate.scrape()
    lines = [line for line in gate.lines() if line["event"] == "request rejected"]
    assert 1 <= len(lines) <= 3
    await connection.close()


async def test_metrics_tell_of_everything(gate: Gate) -> None:
    """Each metric of the contract is there, with bounded labels."""
    await gate.post("/validate", BAD)
    await gate.post("/mutate", GOOD)
    kind = {"group": "canary.example", "version": "v1", "kind": "CanaryKind"}
    await gate.post("/validate", encode(review(kind=kind)))
    gate.metrics.observe_evaluation(0.0002)
    text = await gate.scrape()
    for expected in (
        'sallyport_admissions_total{kind="Pod",operation="CREATE",verdict="deny",'
        'webhook="validate"} 1.0',
        'sallyport_admissions_total{kind="other",operation="CREATE",verdict="allow",'
        'webhook="validate"} 1.0',
        'sallyport_admission_duration_seconds_count{webhook="validate"} 2.0',
        'sallyport_admission_duration_seconds_count{webhook="mutate"} 1.0',
        "sallyport_evaluation_seconds_count 1.0",
        'sallyport_findings_total{action="deny",rule="privileges/host/privileged"} 1.0',
        'sallyport_access_reviews_total{result="hit"} 3.0',
        'sallyport_policy_info{revision="4f0c2a9e11aa"} 1.0',
        'sallyport_profiles_info{revision="77aa01b2c3d4"} 1.0',
        'sallyport_build_info{version="1.2.3"} 1.0',
        'sallyport_certificate_reloads_total{result="ok"} 1.0',
        "sallyport_certificate_not_after_seconds 1.",
        "sallyport_log_lines_dropped_total 0.0",
        "sallyport_ready 1.0",
        "process_resident_memory_bytes",
    ):
        assert expected in text, expected
    assert "anary" not in text


async def test_readyz_says_what_is_missing(gate: Gate) -> None:
    """A 200 only when certificate, policies and watches are there."""
    assert (await gate.status("/readyz")).status == 200
    gate.judge.lacks.append("the watch on Namespaces has not synced")
    answer = await gate.status("/readyz")
    assert answer.status == 503
    assert answer.body == b"not ready: policies: the watch on Namespaces has not synced\n"
    verbose = await gate.status("/readyz?verbose")
    assert verbose.body.decode().splitlines() == [
        "[+]certificate ok",
        "[-]policies: the watch on Namespaces has not synced",
        "[+]shutdown ok",
        "readyz check failed",
    ]
    assert (await gate.status("/livez")).status == 200
    assert "sallyport_ready 0.0" in await gate.scrape()


async def test_the_status_listener_judges_nothing(gate: Gate) -> None:
    """Reviews go through TLS only; there is no documentation to browse either."""
    for path in ("/validate", "/docs", "/openapi.json", "/redoc"):
        assert (await gate.status(path)).status == 404
