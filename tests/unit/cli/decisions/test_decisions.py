"""`sallyport decisions`: what the ledger holds, listed."""

import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from audit.ledger.store.store import Store
from core.base.ids import uuid7_unix_ms
from core.decision.decision import Verdict
from core.decision.document import DecisionDocument
from core.people.subject import Subject
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS, document, finding, frame
from tests.unit.cli.conftest import Run

MINUTE = 60_000
ALICE = Subject(username="alice").label


def keep(folder: Path, documents: Sequence[DecisionDocument]) -> str:
    """Make a ledger that holds these; give its URL."""
    url = f"sqlite:///{folder / 'ledger.db'}"

    def now() -> float:
        return max((uuid7_unix_ms(made.id) for made in documents), default=0) / 1000

    async def deliver() -> None:
        async with Store(url, now) as store:
            for cluster in {made.cluster for made in documents}:
                of_it = [frame(made) for made in documents if made.cluster == cluster]
                await store.deliver(cluster, of_it)

    asyncio.run(deliver())
    return url


SOME = [
    document(NOW_MS, id="01a1fdfa-4600-741a-844b-d5e85b7c5f0f"),
    document(NOW_MS + MINUTE, Verdict.DENY, requester=ALICE, namespace="web", profile=None),
    document(NOW_MS + 2 * MINUTE, Verdict.ERROR, error_kind="deadline", requester="bob"),
    document(NOW_MS + 3 * MINUTE, Verdict.WARN, kind="Deployment", name="", source="mutate"),
]


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    """The URL of a ledger with a few decisions."""
    return keep(tmp_path, SOME)


def shown(out: str) -> list[str]:
    """Return the ids of a JSON list."""
    return [each["id"] for each in json.loads(out)]


def test_table_has_the_newest_first(run: Run, ledger: str) -> None:
    """A line each: when, how decided, what, who, under what, why, and an id to go on with."""
    done = run("decisions", "--ledger", ledger)
    assert (done.code, done.err) == (0, "")
    rows = [line.split(maxsplit=1) for line in done.out.splitlines()]
    assert [row[0] for row in rows] == [
        "TIME",
        *(f"2026-11-21T12:0{minute}:00Z" for minute in (3, 2, 1, 0)),
    ]
    assert rows[1][1].split()[:5] == [
        "warned",
        "mutate",
        "Deployment",
        "train/(unnamed)",
        SOME[3].requester,
    ]
    assert rows[2][1].split()[-2:] == ["error/deadline", SOME[2].id[:18]]
    assert rows[3][1].split() == [
        "refused",
        "gate",
        "Pod",
        "web/llm-pretrain-7f9c6-worker-0",
        ALICE,
        "–",
        "privileges/host/network",
        SOME[1].id[:18],
    ]
    assert rows[4][1].split()[-3:] == ["pss-baseline", "–", "01a1fdfa-4600-741a"]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("", [3, 2, 1, 0]),
        ("--limit 2", [3, 2]),
        ("-n web", [1]),
        ("--namespace web --verdict allow", []),
        ("--verdict deny --verdict error", [2, 1]),
        ("--user alice", [1]),
        (f"--user {ALICE}", [1]),
        ("--user bob", [2]),
        (f"--user {SOME[0].requester}", [3, 0]),
        ("--rule privileges/host/network", [3, 2, 1]),
        ("--kind Deployment", [3]),
        ("--name llm-pretrain-7f9c6-worker-0", [2, 1, 0]),
        ("--source mutate", [3]),
        (f"--cluster-id {CLUSTER}", [3, 2, 1, 0]),
        ("--cluster-id other", []),
        ("--since 2026-11-21T12:01:30Z", [3, 2]),
        ("--since 2026-11-21T14:01:00+02:00", [3, 2, 1]),
        ("--since 1970-01-01T00:00:00+01:00", [3, 2, 1, 0]),
        ("--until 2026-11-21T12:01:30Z", [1, 0]),
        ("--verdict refused", [1]),
        ("--verdict warned --verdict deny", [3, 1]),
    ],
)
def test_each_flag_chooses(run: Run, ledger: str, flags: str, expected: list[int]) -> None:
    """Flags narrow what is listed; a user name is looked for as its pseudonym too."""
    done = run("decisions", "--ledger", ledger, "-o", "json", *flags.split())
    assert done.code == 0
    assert "there are more" in done.err if "--limit" in flags else done.err == ""
    assert shown(done.out) == [SOME[each].id for each in expected]


def test_since_counts_back_from_now(run: Run, tmp_path: Path) -> None:
    """Minutes, hours, days."""
    now = int(time.time() * 1000)
    made = [document(now - ago * MINUTE) for ago in (1, 90, 3000)]
    url = keep(tmp_path, made)
    for since, count in {"15m": 1, "90s": 1, "2h": 2, "3d": 3, "1w": 3, "30s": 0}.items():
        done = run("decisions", "--ledger", url, "--since", since, "-o", "json")
        assert len(shown(done.out)) == count, since


@pytest.mark.parametrize(
    "since", ["yesterday", "2h30m", "2026-11-21", "2026-11-21T12:00:00", "-1h"]
)
def test_since_that_is_no_time_is_wrong_usage(run: Run, ledger: str, since: str) -> None:
    """The message shows what is one; a time without its zone could be meant in two ways."""
    done = run("decisions", "--ledger", ledger, f"--since={since}")
    assert (done.code, done.out) == (64, "")
    assert "(15m, 2h, 3d) or a time with its zone (2026-11-21T09:00:00Z)" in done.err


def test_before_gives_what_is_older(run: Run, ledger: str) -> None:
    """Whatever the case of the id's digits."""
    flags = ("--before", SOME[2].id.upper(), "--ledger", ledger, "-o", "json")
    assert shown(run("decisions", *flags).out) == [SOME[1].id, SOME[0].id]


def test_pages_hold_each_decision_once(run: Run, ledger: str) -> None:
    """The line that ends a page says how to ask for the next."""
    found: list[str] = []
    flags: tuple[str, ...] = ()
    for _ in range(len(SOME)):
        done = run("decisions", "--ledger", ledger, "--limit", "1", "-o", "json", *flags)
        found += shown(done.out)
        more = "there are more: " in done.err
        flags = tuple(done.err.removeprefix("there are more: ").split())
        assert more == (len(found) < len(SOME))
    assert found == [each.id for each in SOME[::-1]]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--verdict denied", "--verdict denied: give one of allow, warn, deny, error, allowed"),
        ("--until tomorrow", "--until tomorrow: give how long ago"),
        ("--before 01a1", "--before 01a1: give a decision's whole id"),
        ("--follow --until 1h", "--follow: it shows what comes"),
    ],
)
def test_what_is_typed_wrong_is_said(run: Run, ledger: str, flags: str, words: str) -> None:
    """With the flag and what it takes."""
    done = run("decisions", "--ledger", ledger, *flags.split())
    assert (done.code, done.out) == (64, "")
    assert words in done.err


def test_nothing_that_matches_is_no_failure(run: Run, ledger: str) -> None:
    """People are told; programs get an empty list."""
    done = run("decisions", "--ledger", ledger, "-n", "nowhere")
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("no decision matches: ")
    done = run("decisions", "--ledger", ledger, "-n", "nowhere", "-o", "json")
    assert (done.code, done.out, done.err) == (0, "[]\n", "")


def test_without_a_ledger_it_says_who_makes_one(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is looked for where `sallyport run` keeps it, and not made by asking."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    done = run("decisions")
    assert (done.code, done.out) == (2, "")
    assert f"sqlite:///{tmp_path}/sallyport/run/ledger.db: there is no such file" in done.err
    assert "`sallyport run`" in done.err
    assert list(tmp_path.iterdir()) == []


def test_ledger_of_the_settings_is_asked(
    run: Run, ledger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the auditor's is."""
    monkeypatch.setenv("SALLYPORT_LEDGER__URL", ledger)
    assert len(shown(run("decisions", "-o", "json").out)) == len(SOME)


def test_password_is_not_repeated(run: Run) -> None:
    """Whether it is the URL of a ledger or not."""
    for url in ("postgresql+psycopg://u:hunter2@127.0.0.1:1/x", "mysql://u:hunter2@127.0.0.1/x"):
        done = run("decisions", "--ledger", url)
        assert done.code in {2, 64}
        assert "hunter2" not in done.out + done.err


def test_json_is_what_was_recorded(run: Run, tmp_path: Path) -> None:
    """Fields of a later release too: nothing is decoded and made anew."""
    made = frame(SOME[0])
    later = type(made)(1, made.id, made.payload.replace(b'{"format":1', b'{"format":2,"later":7'))
    url = keep(tmp_path, [])

    async def deliver() -> None:
        async with Store(url, lambda: uuid7_unix_ms(SOME[0].id) / 1000) as store:
            await store.deliver(CLUSTER, [later])

    asyncio.run(deliver())
    (element,) = json.loads(run("decisions", "--ledger", url, "-o", "json").out)
    assert element == json.loads(later.payload)


def test_text_of_others_cannot_move_the_cursor(run: Run, tmp_path: Path) -> None:
    """A request chooses names; the terminal is the operator's."""
    evil = "e\x1b[2J\x07\u202e[red]x[/red]"
    made = document(
        verdict=Verdict.DENY,
        kind=evil,
        namespace=evil,
        name=evil,
        requester=evil,
        profile=evil,
        findings=[finding(evil)],
    )
    done = run("decisions", "--ledger", keep(tmp_path, [made]))
    assert done.code == 0
    assert all(char.isprintable() or char == "\n" for char in done.out)
    assert done.out.count("[red]x[/red]") == 6
    done = run("decisions", "--ledger", f"sqlite:///{tmp_path}/{evil}")
    assert all(char.isprintable() or char == "\n" for char in done.err)


def test_many_rules_are_counted(run: Run, tmp_path: Path) -> None:
    """The first three are named."""
    findings = [finding(f"site/{n}") for n in range(5)]
    url = keep(tmp_path, [document(verdict=Verdict.DENY, findings=findings)])
    assert "site/0, site/1, site/2, and 2 more" in run("decisions", "--ledger", url).out


def test_ids_that_begin_alike_are_whole(run: Run, tmp_path: Path) -> None:
    """What is printed is enough for `sallyport explain`."""
    alike = [document(id=f"01a1fdfa-4600-741a-844b-d5e85b7c5f0{n}") for n in (1, 2)]
    out = run("decisions", "--ledger", keep(tmp_path, alike)).out
    assert [line.split()[-1] for line in out.splitlines()[1:]] == [
        alike[1].id,
        alike[0].id,
    ]


def test_clusters_are_told_apart_where_there_are_several(run: Run, tmp_path: Path) -> None:
    """And not named where all rows are of one."""
    url = keep(tmp_path, [SOME[0], document(id=SOME[0].id, cluster="other", source="sweep")])
    head, *rows = run("decisions", "--ledger", url).out.splitlines()
    assert head.split()[2:4] == ["SOURCE", "CLUSTER"]
    assert {tuple(row.split()[2:4]) for row in rows} == {("gate", CLUSTER), ("sweep", "other")}
    head, row = run("decisions", "--ledger", url, "--cluster-id", "other").out.splitlines()
    assert head.split()[2:4] == ["SOURCE", "OBJECT"]
    assert row.split()[2] == "sweep"
