"""`sallyport explain`: what it explains, of whom, and how it ends."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from core.decision.decision import Action, Finding, Need, Verdict
from core.decision.document import DecisionDocument, TriedProfile, encode_document
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS, document, finding
from tests.unit.cli.conftest import Run
from tests.unit.cli.decisions.test_decisions import keep
from tests.unit.cli.manifests import BAD, BROKEN, CONFIG_MAP, GOOD, cluster, pod, write

ID = "01a1fdfa-4600-741a-844b-d5e85b7c5f0f"
ALIKE = ["01a1fdf9-4600-741a-844b-d5e85b7c5f0f", "01a1fdf9-4601-741a-844b-d5e85b7c5f0f"]
NETWORK = Need("privileges/host/network", "host/network", "spec.hostNetwork")

FINDING = msgspec.structs.replace(finding(), message="shares the network of the node")


def refused(decision_id: str, **changes: Any) -> DecisionDocument:
    """Return a refusal of a Pod that shares the node's network."""
    made: DecisionDocument = document(
        NOW_MS,
        Verdict.DENY,
        id=decision_id,
        name="bad",
        findings=[FINDING],
        needs=[NETWORK],
        tried=[TriedProfile(profile="pss-restricted", usable=True, lacks=["host/network"])],
        access_reviews=[],
        subjects=[],
        requester="user:0123456789abcdef",
        **changes,
    )
    return made


def mark(decision_id: str) -> DecisionDocument:
    """Return the refusal of a Namespace's mark."""
    path = "metadata.labels[sallyport.dev/mode]"
    remedy = "Leave it as it is, or ask someone who may exempt namespaces to set it."
    found = Finding("namespaces/exempt", Action.DENY, path, "sets a mark", remedy)
    changes: dict[str, Any] = {"kind": "Namespace", "namespace": "", "name": "train"}
    made: DecisionDocument = document(NOW_MS, Verdict.DENY, id=decision_id, **changes)
    return msgspec.structs.replace(made, findings=[found], needs=[], tried=[], profile=None)


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    """The URL of a ledger in SQLite with an admission, two refusals of ids alike, and a mark."""
    admitted = document(NOW_MS, id=ID)
    others = [*map(refused, ALIKE), mark("01a1fdf8-4600-741a-844b-d5e85b7c5f0f")]
    return keep(tmp_path, [admitted, *others])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cluster in which researchers, and train's account trainer, may use `net`."""
    return cluster(tmp_path / "cluster")


@pytest.mark.parametrize("target", [ID, ID[:8], ID[:8].upper(), ID[:15]])
def test_id_or_its_beginning_leads_to_the_decision(run: Run, ledger: str, target: str) -> None:
    """From eight digits on; an admission ends with 0."""
    done = run("explain", target, "--ledger", ledger)
    assert (done.code, done.err) == (0, "")
    first, *_, last = done.out.splitlines()
    what = "Pod train/llm-pretrain-7f9c6-worker-0"
    assert first == f"Admitted: {what} under the profile pss-baseline."
    assert last.startswith(f"decision {ID}; 2026-11-21T12:00:00.000Z; mode enforce; ")
    assert last.endswith(f"; cluster {CLUSTER}")


def test_refusal_says_what_to_do_before_why(run: Run, ledger: str) -> None:
    """The headline, the advice, the field; then what the rules found and what was tried."""
    done = run("explain", ALIKE[0], "--ledger", ledger)
    assert (done.code, done.err) == (1, "")
    assert done.out.splitlines()[:-1] == [
        "Refused: Pod train/bad: spec.hostNetwork shares the network of the node.",
        "Do this: change this field; "
        "then pss-restricted, a profile that may be used here, covers all:",
        "  spec.hostNetwork: Remove hostNetwork, or ask for a profile that covers host/network.",
        "",
        "What the rules found that it needs",
        "  host/network  at spec.hostNetwork  (rule privileges/host/network)",
        "",
        "Profiles that were tried, in order",
        "  pss-restricted: lacks host/network; may be used",
        "",
    ]


@pytest.mark.parametrize("again", [False, True])
def test_id_of_several_clusters_is_told_first(
    run: Run, tmp_path: Path, folder: Path, *, again: bool
) -> None:
    """Then each is explained, and ends with its cluster; also where it is judged again."""
    url = keep(tmp_path, [refused(ID), msgspec.structs.replace(refused(ID), cluster="other")])
    flags = ["--as", "dana", "--cluster", folder] if again else []
    done = run("explain", ID, "--ledger", url, *flags)
    assert (done.code, done.err) == (0 if again else 1, "")
    first, *rest = done.out.splitlines()
    ends = [line.rpartition("; cluster ")[2] for line in rest if "; cluster " in line]
    assert set(ends) == {CLUSTER, "other"}
    assert first == f"2 clusters have this decision: {', '.join(ends)}"


def test_several_that_begin_alike_are_named(run: Run, ledger: str) -> None:
    """One must be chosen."""
    done = run("explain", "01a1fdf9", "--ledger", ledger)
    assert (done.code, done.out) == (2, "")
    assert all(each in done.err for each in ALIKE)


@pytest.mark.parametrize("target", ["01a1fdf7", "01a1fdf7-4600-741a-844b-d5e85b7c5f0f"])
def test_unknown_id_is_2(run: Run, ledger: str, target: str) -> None:
    """It may come yet: not wrong usage."""
    done = run("explain", target, "--ledger", ledger)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"sallyport: no decision {target} is in the ledger: it is not shipped yet, or too old\n"
    )


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("01a1", "no such file; of an id give at least 8 digits"),
        ("01a1-fdf", "no such file; of an id give at least 8 digits"),
        ("nowhere.yaml", "neither a file nor the id of a decision"),
        (f"{ID}0", "neither a file nor the id of a decision"),
    ],
)
def test_what_is_no_target_is_wrong_usage(run: Run, ledger: str, target: str, problem: str) -> None:
    """An id that is too short is told apart from what is none."""
    done = run("explain", target, "--ledger", ledger)
    assert (done.code, done.out, done.err) == (64, "", f"sallyport: {target}: {problem}\n")


def test_without_a_ledger_it_says_who_makes_one(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None is made by asking."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    done = run("explain", ID)
    assert (done.code, done.out) == (2, "")
    assert "ledger.db: there is no such file" in done.err
    assert "`sallyport run`" in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("documents", "code", "first"),
    [
        ([GOOD], 0, "Admitted: Pod default/good under the profile pss-restricted."),
        ([BAD, GOOD], 1, "Refused: Pod default/bad: "),
        ([pod("odd", hostNetwork="yes"), BAD], 2, "Not judged: Pod default/odd "),
        ([CONFIG_MAP, GOOD], 0, "Admitted: Pod default/good under "),
    ],
)
def test_manifests_of_a_file_are_judged(
    run: Run, tmp_path: Path, documents: list[object], code: int, first: str
) -> None:
    """Each that is of a kind that is judged; the code is that of the worst."""
    file = write(tmp_path / "a.yaml", *documents)
    done = run("explain", file)
    assert (done.code, done.err) == (code, "")
    assert done.out.startswith(first)


def test_folder_and_standard_input_are_read_alike(run: Run, tmp_path: Path) -> None:
    """Every manifest has its explanation, with a line between; `-n` is for what names none."""
    write(tmp_path / "many" / "a.yaml", BAD)
    file = write(tmp_path / "many" / "b.yaml", GOOD)
    done = run("explain", tmp_path / "many", "-n", "train")
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith("Refused: Pod train/bad: ")
    assert "\n\nAdmitted: Pod train/good under" in done.out
    done = run("explain", "-", "-n", "train", stdin=file.read_bytes())
    assert (done.code, done.out.splitlines()[0][:24]) == (0, "Admitted: Pod train/good")


@pytest.mark.parametrize("content", [BROKEN, CONFIG_MAP, ""])
def test_file_without_anything_to_judge_is_wrong_usage(
    run: Run, tmp_path: Path, content: object
) -> None:
    """One line that names it."""
    done = run("explain", write(tmp_path / "a.yaml", content))
    assert (done.code, done.out) == (64, "")
    assert (str(tmp_path / "a.yaml") in done.err, done.err.count("\n")) == (True, 1)


def test_decision_in_a_file_is_explained_as_it_was_taken(run: Run, tmp_path: Path) -> None:
    """A line of the log, without a ledger."""
    file = tmp_path / "decision.json"
    file.write_bytes(encode_document(refused(ALIKE[0])))
    done = run("explain", file)
    assert (done.code, done.err) == (1, "")
    assert f"decision {ALIKE[0]}; " in done.out


@pytest.mark.parametrize("kept", ["ledger", "file"])
def test_record_is_judged_again_for_another(
    run: Run, tmp_path: Path, ledger: str, folder: Path, kept: str
) -> None:
    """By rights of now, wherever the record is kept."""
    target: object = ALIKE[0]
    if kept == "file":
        target = tmp_path / "decision.json"
        Path(str(target)).write_bytes(encode_document(refused(ALIKE[0])))
    flags = ["--ledger", ledger, "--cluster", folder]
    done = run("explain", target, "--as", "dana", *flags)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Admitted: Pod train/bad under the profile net.\n")
    member = run("explain", target, "--as", "erin", "--as-group", "researchers", *flags)
    assert (member.code, member.err) == (0, "")
    stranger = run("explain", target, "--as", "erin", *flags)
    assert (stranger.code, stranger.err) == (1, "")
    assert stranger.out.startswith("Refused: Pod train/bad: ")


@pytest.mark.parametrize("kept", ["ledger", "file"])
def test_mark_of_a_namespace_is_not_judged_again(
    run: Run, tmp_path: Path, ledger: str, folder: Path, kept: str
) -> None:
    """Only Pods are judged again: nobody is told that it would be admitted."""
    decision = mark("01a1fdf8-4600-741a-844b-d5e85b7c5f0f")
    (tmp_path / "decision.json").write_bytes(encode_document(decision))
    target = decision.id if kept == "ledger" else tmp_path / "decision.json"
    flags = ["--ledger", ledger, "--cluster", folder]
    done = run("explain", target, "--as", "dana", *flags)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"sallyport: decision {decision.id} is about a Namespace; only Pods are judged again "
        "from the record: give the manifest instead\n"
    )
    as_it_was = run("explain", target, *flags)
    assert as_it_was.code == 1
    assert "\nDo this: leave this mark as before:\n" in as_it_was.out


def test_json_holds_the_changes_and_the_record(run: Run, ledger: str) -> None:
    """For programs, in the order in which people read it; the exit code is the same."""
    done = run("explain", ALIKE[1], "--ledger", ledger, "-o", "json")
    assert (done.code, done.err) == (1, "")
    (element,) = json.loads(done.out)
    assert list(element) == ["headline", "changes", "looks", "decision", "notes"]
    assert element["changes"][0]["fields"][0]["path"] == "spec.hostNetwork"
    assert (element["changes"][0]["who"], element["changes"][0]["size"]) == ("author", 1)
    assert element["decision"] == json.loads(encode_document(refused(ALIKE[1])))


def test_text_of_others_cannot_move_the_cursor(run: Run, tmp_path: Path) -> None:
    """A request chooses names; the terminal is the reader's."""
    evil = "e\x1b[2J\x07\u202e[red]x[/red]"
    made = refused(ALIKE[0], namespace=evil, uid=evil)
    need = Need(evil, evil, evil)
    lacking = TriedProfile(profile=evil, usable=True, lacks=[evil])
    covering = TriedProfile(profile=evil, usable=False)
    found = Finding(evil, Action.DENY, evil, evil, evil, evil)
    changes: dict[str, Any] = {"needs": [need], "tried": [lacking, covering], "mode": evil}
    made = msgspec.structs.replace(made, findings=[found], requester=evil, **changes)
    made = msgspec.structs.replace(made, subjects=[evil], ceiling=[evil], time=evil)
    file = tmp_path / "decision.json"
    file.write_bytes(encode_document(made))
    done = run("explain", file)
    assert done.code == 1
    assert [line for line in done.out.splitlines() if not line.isprintable()] == []
    assert done.out.count("[red]x[/red]") > 10
    done = run("explain", evil)
    assert all(char.isprintable() or char == "\n" for char in done.err)


def test_subject_counts_for_manifests_too(run: Run, tmp_path: Path, folder: Path) -> None:
    """`--as` is the one who submits."""
    file = write(tmp_path / "a.yaml", pod("bad", namespace="train", hostNetwork=True))
    for user, code in (("dana", 0), ("erin", 1)):
        assert run("explain", file, "--as", user, "--cluster", folder).code == code
