"""`sallyport weights ingest` takes files and folders in, and says what became of them."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from typer.testing import CliRunner

from audit.access.ingest.metrics import WeightsCollector
from audit.ledger.store.store import Store
from cli.main import app
from tests.harness.worlds.storage_logs import BEGIN_MS, lines
from tests.unit.audit.access.ingest.training_cluster import ingest_of, stretch, stretches, take_all


@pytest.fixture(autouse=True)
def kept_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """The records are of a fixed day."""
    monkeypatch.setenv("SALLYPORT_LEDGER__KEEP_DAYS", "3650")


def run(*arguments: str, tmp_path: Path) -> tuple[int, dict[str, Any]]:
    """Run the command; give its exit code and what it says."""
    given = ["weights", "ingest", "--ledger", f"sqlite:///{tmp_path / 'l.db'}", "-o", "json"]
    result = CliRunner().invoke(app, [*given, "--cluster-id", "c1", *arguments])
    return result.exit_code, json.loads(result.stdout)


def test_files_and_again(tmp_path: Path) -> None:
    """Each record is stored once, whatever way it comes."""
    raws = list(lines(300))
    plain, zipped = tmp_path / "a.json", tmp_path / "b.json.gz"
    plain.write_bytes(b"\n".join(raws[:200]) + b"\n")
    zipped.write_bytes(gzip.compress(b"\n".join(raws[100:]) + b"\n"))
    code, said = run(str(plain), str(zipped), tmp_path=tmp_path)
    assert (code, said["read"], said["stored"], said["known"]) == (0, 400, 300, 100)
    code, said = run(str(plain), tmp_path=tmp_path)
    assert (code, said["stored"]) == (0, 0)


def test_refused_records_are_told_by_the_exit_code(tmp_path: Path) -> None:
    """What is in quarantine is not silent."""
    (tmp_path / "a.json").write_bytes(b"no record\n" + next(lines(1)) + b"\n")
    code, said = run(str(tmp_path / "a.json"), tmp_path=tmp_path)
    assert (code, said["stored"], said["refused"]) == (1, 1, 1)


def test_an_answer_of_a_rest_api_is_taken_in_record_by_record(tmp_path: Path) -> None:
    """Indented, as tools print it: no line of it is a record, and none is refused."""
    page = {"value": [json.loads(line) for line in lines(5)], "nextLink": "https://x/"}
    (tmp_path / "a.json").write_text(json.dumps(page, indent=2))
    code, said = run(str(tmp_path / "a.json"), tmp_path=tmp_path)
    assert (code, said["read"], said["stored"], said["refused"]) == (0, 5, 5, 0)


def test_what_is_of_no_concern_is_told_by_kind(tmp_path: Path) -> None:
    """In JSON all kinds; in the table the most of them, and nothing in them is markup."""
    told = [("Add user [red]x", 3), ("Update user", 2), *((f"User {n}", 1) for n in range(12))]
    records = [
        {"category": "AuditLogs", "operationName": name, "properties": {"id": str(number)}}
        for name, count in told
        for number in range(count)
    ]
    (tmp_path / "a.json").write_text("\n".join(map(json.dumps, records)))
    arguments = ["weights", "ingest", "--ledger", f"sqlite:///{tmp_path / 'l.db'}"]
    arguments += ["--cluster-id", "c1", str(tmp_path / "a.json")]
    table = CliRunner().invoke(app, arguments).stdout
    assert "of no concern: 3 entra-audit: Add user [red]x" in table
    assert "of no concern: 4 more kinds" in table
    (tmp_path / "b.json").write_text("\n".join(map(json.dumps, records)))
    _, said = run(str(tmp_path / "b.json"), tmp_path=tmp_path)
    assert said["skippedKinds"] == {f"entra-audit: {name}": count for name, count in told}


def test_records_older_than_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are aside, and it is said why."""
    monkeypatch.setenv("SALLYPORT_LEDGER__KEEP_DAYS", "1")
    (tmp_path / "a.json").write_bytes(next(lines(1)) + b"\n")
    code, said = run(str(tmp_path / "a.json"), tmp_path=tmp_path)
    assert (code, said["refused"], said["aside"]) == (1, 1, 1)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [(["nothing-there", "--cluster-id", "c"], "no such file"), (["."], "cluster_id")],
)
def test_wrong_usage(arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It names what is missing."""
    from cli.main import main  # noqa: PLC0415

    with pytest.raises(SystemExit) as ended:
        main(["weights", "ingest", *arguments])
    assert ended.value.code == 64
    assert word in capsys.readouterr().err


async def test_metrics(ledger: Store) -> None:
    """What an ingest counts is what Prometheus sees."""
    registry = CollectorRegistry()
    ingest = ingest_of(ledger)
    registry.register(WeightsCollector(lambda: ingest, lambda: BEGIN_MS / 1000 + 100))
    await take_all(ingest, [*stretches(200), stretch([b"no record"], key="other")])
    shown = generate_latest(registry).decode()
    assert 'sallyport_weight_records_total{outcome="stored",source="logs"} 200.0' in shown
    assert 'sallyport_weight_records_total{outcome="refused",source="logs"} 1.0' in shown
    assert 'sallyport_weight_accesses_total{confidence="unattributed"} 0.0' in shown
    assert 'sallyport_weight_lag_seconds{source="logs"} 98.0' in shown
    assert "sallyport_weight_watermark_timestamp_seconds" in shown
