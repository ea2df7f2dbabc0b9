"""What the auditor found and read is listed and shown from the ledger, whole and countable."""

import asyncio
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.ledger.store.store import Store
from cli.shared.ledger_documents import find_one
from core.base.errors import LedgerError
from core.base.ids import stable_id
from tests.unit.audit.reports.records import HOSTILE, at, fill, finding, something_of_everything
from tests.unit.cli.conftest import Done, Run

MAY = ("--since", "2026-05-01T00:00:00Z", "--until", "2026-06-01T00:00:00Z")
SCHEMAS = Path(__file__).parents[4] / "docs" / "reference"
SAS_FINDING = stable_id(at(10, 3), "finding", "10")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the URL of a ledger with something of everything in May 2026."""
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"

    async def make() -> None:
        async with Store(f"sqlite:///{path}", keep_days=3650) as ledger:
            await fill(ledger, something_of_everything())
            await fill(ledger, iter([finding(at(12), 99, title=HOSTILE, detection="log-gap")]))

    asyncio.run(make())
    return f"sqlite:///{path}"


def said(done: Done, schema: str) -> Any:
    """Return the JSON of a command that ended well, as its schema says it is."""
    assert (done.code, done.err) == (0, "")
    answer = json.loads(done.out)
    jsonschema.validate(answer, json.loads((SCHEMAS / schema).read_text()))
    return answer


def test_findings_are_listed_the_newest_first(run: Run, url: str) -> None:
    """What is left out is counted."""
    done = run("findings", "list", *MAY, "--limit", "2", "--ledger", url, "-o", "json")
    answer = said(done, "findings-list.schema.json")
    assert [one["time"][:10] for one in answer["findings"]] == ["2026-05-12", "2026-05-11"]
    assert answer["more"] == 1


@pytest.mark.parametrize(
    ("flags", "count"),
    [
        (("--severity", "critical"), 0),
        (("--severity", "high"), 3),
        (("--detection", "log-gap"), 1),
        (("--detection", "log-gap", "--detection", "key-or-anonymous-read"), 3),
        (("--store", "frontier"), 3),
        (("--store", "elsewhere"), 0),
        (("--who", "sas:abababab"), 3),
        (("--who", "oid:nobody"), 0),
        (("--cluster-id", "production"), 3),
        (("--cluster-id", "other"), 0),
    ],
)
def test_filters_choose_findings(run: Run, url: str, flags: tuple[str, ...], count: int) -> None:
    """Each by itself."""
    done = run("findings", "list", *MAY, *flags, "--ledger", url, "-o", "json")
    assert len(said(done, "findings-list.schema.json")["findings"]) == count


def test_table_shows_no_control_characters(run: Run, url: str) -> None:
    """Titles hold others' words."""
    done = run("findings", "list", *MAY, "--ledger", url)
    assert done.code == 0
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out


def test_a_finding_is_shown_with_what_the_ledger_counts(run: Run, url: str) -> None:
    """By the first digits of its id, too; with what to do and where it belongs."""
    done = run("findings", "show", SAS_FINDING, "--ledger", url, "-o", "json")
    answer = said(done, "findings-show.schema.json")
    assert answer["finding"]["id"] == SAS_FINDING
    assert answer["finding"]["remedy"] == "Rotate the keys."
    shown = run("findings", "show", SAS_FINDING[:18], "--ledger", url)
    assert (shown.code, shown.err) == (0, "")
    assert SAS_FINDING in shown.out
    assert "(when found)" not in shown.out.partition("comes to")[0]


def test_explain_takes_the_id_of_a_finding(run: Run, url: str) -> None:
    """And says of an id that nothing has that no decision has it."""
    shown = run("findings", "show", SAS_FINDING, "--ledger", url)
    explained = run("explain", SAS_FINDING, "--ledger", url)
    assert (explained.code, explained.out) == (0, shown.out)
    unknown = run("explain", "00000000", "--ledger", url)
    assert unknown.code == 2
    assert "no decision 00000000 is in the ledger" in unknown.err


def test_cases_are_listed_and_shown(run: Run, url: str) -> None:
    """A case is found again by its id in the window that it was listed in."""
    done = run("cases", "list", *MAY, "--ledger", url, "-o", "json")
    cases = said(done, "cases-list.schema.json")["cases"]
    shown = run("cases", "show", cases[0]["id"], *MAY, "--ledger", url, "-o", "json")
    case = said(shown, "cases-show.schema.json")["case"]
    assert case["id"] == cases[0]["id"]
    assert len(case["timeline"]) == cases[0]["findings"]
    assert cases[0]["id"] in run("cases", "show", cases[0]["id"], *MAY, "--ledger", url).out
    assert cases[0]["id"] in run("cases", "list", *MAY, "--ledger", url).out


def test_accesses_come_page_by_page(run: Run, url: str) -> None:
    """Each once, the oldest first, until there is no next page."""
    found: list[str] = []
    after = ""
    while True:
        flags = ("--limit", "4", "--after", after, "--ledger", url, "-o", "json")
        answer = said(run("accesses", "list", *MAY, *flags), "accesses-list.schema.json")
        found += [one["id"] for one in answer["accesses"]]
        after = answer["next"]
        if not after:
            break
    assert len(found) == len(set(found)) == 10
    assert found == sorted(found)
    assert found[0] in run("accesses", "list", *MAY, "--ledger", url).out


@pytest.mark.parametrize(
    ("flags", "count"),
    [
        (("--ungranted",), 2),
        (("--signed-by", "sas"), 2),
        (("--act", "list"), 1),
        (("--act", "list", "--act", "read"), 10),
        (("--from", "203.0.113.9"), 2),
        (("--who", "oid:11111111-1111-4111-8111-111111111111"), 8),
    ],
)
def test_filters_choose_accesses(run: Run, url: str, flags: tuple[str, ...], count: int) -> None:
    """A human is found by the Pods that they asked for."""
    done = run("accesses", "list", *MAY, *flags, "--ledger", url, "-o", "json")
    assert len(said(done, "accesses-list.schema.json")["accesses"]) == count


def test_an_access_is_shown_whole(run: Run, url: str) -> None:
    """As the ledger has it."""
    listed = run("accesses", "list", *MAY, "--limit", "1", "--ledger", url, "-o", "json")
    (one,) = json.loads(listed.out)["accesses"]
    shown = run("accesses", "show", one["id"], "--ledger", url)
    assert said(shown, "accesses-show.schema.json")["access"] == one


def test_quarantine_shows_what_a_record_says_only_on_demand(run: Run, url: str) -> None:
    """Its text may hold anything."""
    listed = run("quarantine", "list", *MAY, "--ledger", url, "-o", "json")
    answer = said(listed, "quarantine-list.schema.json")
    assert sum(answer["reasons"].values()) == len(answer["records"]) == 3
    record = answer["records"][0]["id"]
    shown = run("quarantine", "show", record, "--ledger", url)
    whole = run("quarantine", "show", record, "--record", "--ledger", url)
    table = run("quarantine", "list", *MAY, "--ledger", url)
    assert record in table.out
    assert "secret stuff" not in listed.out + shown.out + table.out
    assert "secret stuff" in whole.out
    as_json = run("quarantine", "show", record, "--ledger", url, "-o", "json")
    assert said(as_json, "quarantine-show.schema.json")["begins"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("findings", "show", "0000"), "at least the 8 digits"),
        (("findings", "show", "00000000"), "`sallyport findings list` lists them"),
        (("findings", "show", "zzzzzzzz"), "zzzzzzzz: give an id"),
        (("findings", "list", "--detection", "ungrantd"), "ungranted"),
        (("findings", "list", "--since", "1x"), "--since 1x: give how long ago"),
        (("findings", "list", "--since", "1h", "--until", "2h"), "--until 2h: it is not after"),
        (("cases", "show", "00000000"), "give --since further back"),
        (("cases", "show", ""), "an empty id: give an id"),
        (("cases", "show", "0"), "at least the 8 digits"),
        (("accesses", "list", "--after", "zz"), "--after zz: give an access's whole id"),
        (("accesses", "list", "--from", "pod-1"), "--from pod-1: give an IP address"),
        (("accesses", "list", "--finding", "00000000"), "`sallyport findings list` lists them"),
        (("quarantine", "show", "00000000"), "`sallyport quarantine list` lists them"),
    ],
)
def test_what_is_wrong_is_said(run: Run, url: str, arguments: tuple[str, ...], words: str) -> None:
    """With the flag or the id, and what to do; nothing is printed."""
    done = run(*arguments, "--ledger", url)
    assert (done.code, done.out) == (64, "")
    assert words in done.err


def test_one_id_in_several_clusters_needs_the_cluster(run: Run, tmp_path: Path) -> None:
    """Clusters that read one log give a finding one id; more digits would not help."""
    url = f"sqlite:///{tmp_path}/two.db"
    kind, one, payload = finding(at(12), 7)

    async def make() -> None:
        async with Store(url, keep_days=3650) as ledger:
            for cluster in ("east", "west"):
                there = payload.replace(b'"production"', f'"{cluster}"'.encode())
                await ledger.deliver(cluster, [Frame(kind, decision_frame_id(one), there)])

    asyncio.run(make())
    for command in (("findings", "show", one), ("explain", one)):
        done = run(*command, "--ledger", url)
        assert done.code == 64
        assert "several clusters have it (east, west): choose one with --cluster-id" in done.err
    west = ("--cluster-id", "west", "--ledger", url, "-o", "json")
    answer = said(run("findings", "show", one, *west), "findings-show.schema.json")
    assert answer["cluster"] == "west"
    assert run("accesses", "list", "--finding", one, *west).code == 0


def test_finding_of_another_release_is_an_error_that_names_it(url: str) -> None:
    """A ledger may be read by an older release than the one that wrote it."""

    def refuse(_content: bytes) -> None:
        raise ValueError("severity: is not known")

    async def find() -> None:
        async with Store(url, keep_days=3650) as ledger:
            await find_one(ledger, FrameKind.FINDING, SAS_FINDING, refuse, "findings")

    with pytest.raises(LedgerError, match=f"{SAS_FINDING}: the record is of another release"):
        asyncio.run(find())


@pytest.mark.parametrize("command", ["findings", "cases", "accesses", "quarantine"])
def test_narrow_terminal_gets_whole_ids_and_titles(
    run: Run, url: str, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """A table of 80 columns would break each word; a terminal gets one line for each."""
    listed = run(command, "list", *MAY, "--ledger", url, "-o", "json")
    rows = next(value for value in json.loads(listed.out).values() if isinstance(value, list))
    monkeypatch.setattr(f"cli.{command}.command.make_console", narrow)
    lines = run(command, "list", *MAY, "--ledger", url).out.splitlines()
    assert [line.split()[-1] for line in lines if line.startswith("id ")] == [
        one["id"] for one in rows
    ]
    assert not any(line.startswith("ID") for line in lines)


def narrow(_width: int = 0) -> Console:
    """Return the console of a terminal of 80 columns."""
    return Console(highlight=False, soft_wrap=True, width=80)


@pytest.mark.parametrize("command", ["findings", "cases", "accesses", "quarantine"])
def test_nothing_found_is_no_error_and_no_ledger_is_one(
    run: Run, url: str, tmp_path: Path, command: str
) -> None:
    """An empty list ends with 0 and says what to ask; a ledger that is not there with 2."""
    past = ("--since", "2020-01-01T00:00:00Z", "--until", "2020-02-01T00:00:00Z")
    done = run(command, "list", *past, "--ledger", url)
    assert (done.code, done.out) == (0, "")
    assert "--since" in done.err
    missing = run(command, "list", "--ledger", f"sqlite:///{tmp_path}/none.db")
    assert missing.code == 2


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--state", "accepted", "--note", "n", "--until", "soon"), "--until soon: give days from"),
        (("--state", "accepted", "--note", "n"), "--until: is missing: say until when"),
        (("--state", "falseAlarm"), "--note: is missing"),
        (("--owner", "ann@example.com"), "--owner"),
        ((), "--state: give a state, an owner or a note"),
        (("--state", "investigating"), "say in which cluster: give --kubeconfig"),
        (("--state", "closed"), "--state"),
    ],
)
def test_what_cannot_be_said_names_the_field(
    run: Run, url: str, flags: tuple[str, ...], says: str
) -> None:
    """Before anything is asked of a cluster; nothing is written."""
    done = run("findings", "set", SAS_FINDING, *flags, "--ledger", url)
    assert done.code == 64, done.err
    assert says in done.err


def test_lists_choose_by_state(run: Run, url: str) -> None:
    """Nobody has said anything here: all are new."""
    for state, count in (("new", 3), ("falseAlarm", 0)):
        done = run("findings", "list", *MAY, "--state", state, "--ledger", url, "-o", "json")
        assert len(said(done, "findings-list.schema.json")["findings"]) == count
