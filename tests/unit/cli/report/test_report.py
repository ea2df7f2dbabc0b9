"""`sallyport report`: files, exit codes, names, and what is refused with what to do."""

import asyncio
import json
from pathlib import Path

import pytest

from audit.ledger.records.frames import Frame, decision_frame_id
from audit.ledger.store.store import Store
from audit.reports.builder import SAMPLE_CLUSTER
from tests.unit.audit.reports.records import HUMAN, access, at, fill, something_of_everything
from tests.unit.cli.conftest import Run

MAY = ("--period", "2026-05")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the URL of a ledger with something of everything in May 2026."""
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"

    async def make() -> None:
        async with Store(f"sqlite:///{path}", keep_days=3650) as ledger:
            await fill(ledger, something_of_everything())

    asyncio.run(make())
    return f"sqlite:///{path}"


def test_files_are_written_and_what_matters_is_said(run: Run, url: str, tmp_path: Path) -> None:
    """One of each form, named after the month; for a person the gravest first."""
    forms = "html,csv,json,oscal,ocsf,sarif,openreports"
    done = run("report", *MAY, "--ledger", url, "--to", str(tmp_path), "--format", forms)
    assert (done.code, done.err) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"sallyport-report-2026-05{suffix}"
        for suffix in (
            ".csv.zip", ".html", ".json", ".ocsf.jsonl", ".openreports.yaml", ".oscal.json",
            ".sarif",
        )
    ]  # fmt: skip
    assert "Access to model weights, May 2026" in done.out
    assert "Storage logs have gaps of 4 hours" in done.out


def test_programs_read_json(run: Run, url: str, tmp_path: Path) -> None:
    """The digest, the files, and what needs attention."""
    where = ("--ledger", url, "--to", str(tmp_path), "--format", "json")
    done = run("report", *MAY, *where, "-o", "json")
    said = json.loads(done.out)
    document = json.loads(Path(said["files"][0]).read_text())
    assert (said["digest"], said["format"]) == (document["digest"], 1)
    assert said["severities"]["high"] == 2


@pytest.mark.parametrize(("severity", "code"), [("high", 1), ("critical", 0), ("low", 1)])
def test_grave_findings_fail_where_that_is_asked_for(
    run: Run, url: str, tmp_path: Path, severity: str, code: int
) -> None:
    """The ledger has two of high severity."""
    where = ("--ledger", url, "--to", str(tmp_path), "--format", "json")
    assert run("report", *MAY, *where, "--fail-on", severity).code == code


def test_names_are_resolved_when_it_is_read(run: Run, url: str, tmp_path: Path) -> None:
    """Of ids that stand in it; with and without `oid:`, with a head and a byte order mark."""
    names = tmp_path / "people.csv"
    other = "99999999-9999-4999-8999-999999999999"
    names.write_text(f"\ufeffid,name\n{HUMAN[4:].upper()},Ada\noid:{other},Nobody here\n")
    where = ("--ledger", url, "--to", str(tmp_path), "--format", "json,html")
    assert run("report", *MAY, *where, "--names", str(names)).code == 0
    document = json.loads((tmp_path / "sallyport-report-2026-05.json").read_text())
    assert document["people"] == {HUMAN: "Ada"}
    page = (tmp_path / "sallyport-report-2026-05.html").read_text()
    assert "This report names people" in page


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--period", "2026-13"], "--period 2026-13: give a month such as 2026-10"),
        (["--period", "2026-05", "--since", "2026-05-01"], "either a month, or --since and"),
        (["--until", "2026-05-01"], "--until: give --since too"),
        (["--since", "yesterday"], "--since yesterday: give a day (2026-10-01) or a time"),
        (["--since", "2026-05-02", "--until", "2026-05-02"], "must be after --since"),
        (["--since", "2024-01-01", "--until", "2026-01-01"], "about a year at most"),
        (["--format", "docx"], "--format docx: give some of html, pdf, csv"),
        (["--format", ","], "--format: give some of"),
        (["--to", "nowhere"], "--to nowhere: there is no such folder"),
        (["--publish"], "--publish: say into which cluster"),
    ],
)
def test_what_is_wrong_is_said_with_the_fix(
    run: Run, url: str, flags: list[str], said: str
) -> None:
    """Before anything is read or written."""
    done = run("report", "--ledger", url, *flags)
    assert (done.code, done.out) == (64, "")
    assert said in done.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (f"{HUMAN}\n", "line 1: give an id, a comma, a name"),
        ("id,name\nada,Ada\n", "line 2: give an object id, or oid:"),
    ],
)
def test_broken_list_of_names_names_the_line(
    run: Run, url: str, tmp_path: Path, content: str, said: str
) -> None:
    """Nothing is left out in silence."""
    names = tmp_path / "people.csv"
    names.write_text(content)
    done = run("report", *MAY, "--ledger", url, "--to", str(tmp_path), "--names", str(names))
    assert done.code == 64
    assert said in done.err


def test_ledger_that_is_not_there_is_no_empty_report(run: Run, tmp_path: Path) -> None:
    """An error is no report."""
    where = ("--ledger", f"sqlite:///{tmp_path / 'none.db'}", "--to", str(tmp_path))
    done = run("report", *MAY, *where)
    assert (done.code, done.out, list(tmp_path.iterdir())) == (2, "", [])


def test_ledger_without_a_sample_says_where_one_is_made(run: Run, url: str, tmp_path: Path) -> None:
    """`sallyport run` brings it, under a cluster's id of its own."""
    done = run("report", "--sample", "--ledger", url, "--to", str(tmp_path))
    assert done.code == 2
    assert "no sample month: `sallyport run` makes one" in done.err
    assert SAMPLE_CLUSTER == "sample-month"


async def _of_three(path: Path) -> None:
    async with Store(f"sqlite:///{path}", keep_days=3650) as ledger:
        for number, cluster in enumerate(("east", "west", SAMPLE_CLUSTER)):
            kind, id_, payload = access(at(9 + number), number, cluster=cluster)
            frame = Frame(kind, decision_frame_id(id_), payload)
            assert (await ledger.deliver(cluster, [frame])).quarantined == 0


def test_clusters_are_not_told_of_as_if_they_were_one(run: Run, tmp_path: Path) -> None:
    """Nor what is made up as if it were real: the flags that name one are said, and each works."""
    path, to = tmp_path / "ledger.db", tmp_path / "to"
    to.mkdir()
    asyncio.run(_of_three(path))
    where = ("--ledger", f"sqlite:///{path}", "--to", str(to), "--format", "json")
    done = run("report", *MAY, *where)
    assert (done.code, done.out, list(to.iterdir())) == (64, "", [])
    assert "--cluster-id: the ledger has records of several clusters" in done.err
    assert "east, sample-month, west; name the one" in done.err
    assert "--sample" in done.err
    for flags, cluster in (("--cluster-id", "west"), "west"), (("--sample",), SAMPLE_CLUSTER):
        assert run("report", *MAY, *where, *flags).code == 0
        document = json.loads((to / "sallyport-report-2026-05.json").read_text())
        assert document["scope"]["clusters"] == [cluster]
        assert document["completeness"]["accesses"] == 1
    days = ("--since", "2026-05-09", "--until", "2026-05-10")
    assert run("report", *days, *where).code == 0, "only one has records then"


def test_made_up_records_are_not_published(run: Run, tmp_path: Path) -> None:
    """Before any file is written, and before any cluster is asked."""
    path, to = tmp_path / "ledger.db", tmp_path / "to"
    to.mkdir()
    asyncio.run(_of_three(path))
    (tmp_path / "kubeconfig").write_text("{}")
    where = ("--ledger", f"sqlite:///{path}", "--to", str(to))
    publish = ("--publish", "--kubeconfig", str(tmp_path / "kubeconfig"))
    done = run("report", *MAY, *where, "--sample", *publish)
    assert (done.code, list(to.iterdir())) == (64, [])
    assert "--publish: these records are made up" in done.err
