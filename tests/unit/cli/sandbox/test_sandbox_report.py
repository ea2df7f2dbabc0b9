"""`sallyport sandbox report`: what the last sweep found outside the sandbox, and what to do."""

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.sandbox.run import recreate
from core.base.ids import uuid7
from core.decision.decision import Running
from core.decision.document import Isolated
from core.people.subject import Subject
from core.sandbox.decision import INCOMPATIBLE, REQUIRED, RUNTIME
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS, finding, sweep
from tests.unit.cli.conftest import Run
from tests.unit.cli.sandbox.sweep_ledgers import (
    ALICE,
    EARLIER,
    against,
    found,
    keep,
    made,
    said,
    shown,
)


def test_riskiest_first_then_by_name(run: Run, tmp_path: Path) -> None:
    """By score, then namespace, then name."""
    order = [("z", "z", 90), ("a", "m", 60), ("a", "n", 60), ("b", "a", 60), ("a", "a", 0)]
    documents = [found(name, namespace=space, score=score) for space, name, score in order]
    rows = shown(run, keep(tmp_path, documents[::-1]))
    assert [(row["namespace"], row["pod"], row["score"]) for row in rows] == order


def test_a_row_says_all_of_a_pod(run: Run, tmp_path: Path) -> None:
    """Whose it is by the gate's record of its creation; why, and what to do, by the sweep's."""
    (row,) = shown(run, keep(tmp_path, [found("p", running=Running("Job/x")), made("p")]))
    assert row | {"decision": "", "signals": []} == {
        "cluster": CLUSTER,
        "namespace": "train",
        "pod": "p",
        "uid": "uid-p",
        "decision": "",
        "workload": "Deployment/agent",
        "requester": ALICE,
        "why": "risk",
        "reason": "its risk is 85, and the namespace train requires a sandbox from 50 on: "
        "sandbox/code/notebook 40, sandbox/code/installs 25, sandbox/code/public_image 15 "
        "and 1 more",
        "score": 85,
        "threshold": 50,
        "signals": [],
        "runtime": None,
        "sandbox": "gvisor",
        "first": [],
        "also": [],
        "excusedBy": [],
        "recreate": "kubectl rollout restart deployment/agent -n train",
    }
    assert [signal["points"] for signal in row["signals"]] == [40, 25, 15, 5]


def test_without_a_record_the_pod_says_what_made_it(run: Run, tmp_path: Path) -> None:
    """It is older than the installation: nobody knows who asked."""
    (row,) = shown(run, keep(tmp_path, [found("p")]))
    assert (row["workload"], row["requester"]) == ("Deployment/agent", None)
    assert "unknown: the gate recorded nothing" in said(run, f"sqlite:///{tmp_path / 'ledger.db'}")


def test_only_the_creation_says_who_asked(run: Run, tmp_path: Path) -> None:
    """Not whoever was refused, nor who changed the Pod later; a name that is kept is not shown."""
    bob = made("p", requester="bob", root=None, operation="UPDATE", id=uuid7(EARLIER - 2))
    eve = made("p", requester="eve", root=None, allowed=False, id=uuid7(EARLIER - 1))
    (row,) = shown(
        run, keep(tmp_path, [found("p"), bob, eve, made("p", requester="al", root=None)])
    )
    assert row["requester"] == Subject(username="al").label


def test_only_the_last_finished_sweep_counts(run: Run, tmp_path: Path) -> None:
    """Neither one before it, nor one that is under way; of each cluster its own last."""
    documents = [
        found("old", EARLIER),
        found("now"),
        found("running", NOW_MS + 1000),
        found("there", EARLIER, cluster="other"),
    ]
    sweeps = [sweep(EARLIER), sweep(NOW_MS), sweep(EARLIER, cluster="other")]
    url = keep(tmp_path, documents, sweeps)
    assert [row["pod"] for row in shown(run, url)] == ["now", "there"]
    assert [row["pod"] for row in shown(run, url, "--cluster-id", "other")] == ["there"]
    assert "other: train Deployment/agent" in said(run, url)
    assert "other: " not in said(run, url, "--cluster-id", "other")


def test_namespace_is_chosen(run: Run, tmp_path: Path) -> None:
    """What is found elsewhere is not counted, and the summary says so."""
    url = keep(tmp_path, [found("a", namespace="web"), found("b")])
    assert [row["pod"] for row in shown(run, url, "-n", "web")] == ["a"]
    assert shown(run, url, "-n", "none") == []
    assert said(run, url, "-n", "none").startswith("No Pod in the namespace none runs outside")


@pytest.mark.parametrize(
    ("rule", "runtime", "mode"),
    [
        (REQUIRED, "", "enforce"),
        (REQUIRED, "plain", "enforce"),
        (RUNTIME, "", "enforce"),
        (RUNTIME, "gvisor", "enforce"),
        (INCOMPATIBLE, "", "enforce"),
    ],
)
def test_report_lists_pods_outside_of_their_sandbox(
    run: Run, tmp_path: Path, rule: str, runtime: str, mode: str
) -> None:
    """Without a class, with another, or with one whose handler is none."""
    one = found("p", findings=[against(rule)], running=Running("", runtime), mode=mode)
    assert len(shown(run, keep(tmp_path, [one]))) == 1


@pytest.mark.parametrize(
    ("rule", "runtime", "mode"),
    [
        (INCOMPATIBLE, "gvisor", "enforce"),
        (INCOMPATIBLE, "", "warn"),
        ("privileges/host/network", "", "enforce"),
    ],
)
def test_report_leaves_out_pods_that_lack_no_sandbox(
    run: Run, tmp_path: Path, rule: str, runtime: str, mode: str
) -> None:
    """What is in it though it cannot run there well; and where no class is given."""
    one = found("p", findings=[against(rule)], running=Running("", runtime), mode=mode)
    assert shown(run, keep(tmp_path, [one])) == []


def test_each_pod_once_with_all_that_is_against_it(run: Run, tmp_path: Path) -> None:
    """What must be changed first, and what else the gate refuses, stand beside the command."""
    rules = [against(INCOMPATIBLE, "spec.hostNetwork"), against(RUNTIME), finding()]
    url = keep(tmp_path, [found("p", findings=rules)])
    (row,) = shown(run, url)
    assert [each["rule"] for each in row["first"]] == [INCOMPATIBLE, RUNTIME]
    assert row["also"] == ["privileges/host/network"]
    text = said(run, url)
    assert "first      spec.hostNetwork: says sandbox/incompatible. Mend that." in text
    assert "also       it would be refused for privileges/host/network\n" in text
    assert f"see        sallyport explain {row['decision']}\n" in text


def test_a_gang_is_one_paragraph_that_says_how_many(run: Run, tmp_path: Path) -> None:
    """Of hundreds of Pods a few are named, beside where to see all signals; JSON has each."""
    url = keep(tmp_path, [found(f"p-{number:03}") for number in range(300)])
    text = said(run, url)
    assert "pods       300: p-000, p-001, p-002, p-003, p-004 and 295 more\n" in text
    assert text.count("  why ") == text.count("  see        sallyport explain ") == 1
    assert "300 Pods of 1 workload should run in a sandbox" in text
    assert [row["pod"] for row in shown(run, url)] == [f"p-{number:03}" for number in range(300)]


def test_more_than_a_page_is_read(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster may have more Pods outside than the ledger gives at once."""
    monkeypatch.setattr("cli.sandbox.run.MOST_ROWS", 2)
    names = [f"p-{number}" for number in range(5)]
    rows = shown(run, keep(tmp_path, [found(name) for name in names]))
    assert [row["pod"] for row in rows] == names


def test_an_exception_that_excused_it_is_named(run: Run, tmp_path: Path) -> None:
    """The sweep does not see one for the workload of a Pod."""
    excused = made("p", exceptions=["llama@u"], isolation=Isolated(mode="required", excused=True))
    url = keep(tmp_path, [found("p"), excused])
    assert shown(run, url)[0]["excusedBy"] == ["llama@u"]
    assert "by the PolicyException llama: has it ended?" in said(run, url)


def test_without_a_sweep_nothing_is_known(run: Run, tmp_path: Path) -> None:
    """That is no success: neither in an empty ledger nor of a cluster that was never swept."""
    url = keep(tmp_path, [])
    for flags in (["--cluster-id", "nowhere"], []):
        done = run("sandbox", "report", "--ledger", url if flags else f"{url}-none", *flags)
        assert (done.code, done.out) == (2, "")
    done = run("sandbox", "report", "--ledger", url, "--cluster-id", "nowhere", "-o", "json")
    assert (done.code, done.out) == (2, "")
    assert "no finished sweep of the cluster nowhere is in the ledger" in done.err


@pytest.mark.parametrize(
    ("workload", "owner", "expected"),
    [
        ("Deployment/x", "", "kubectl rollout restart deployment/x -n n"),
        ("StatefulSet/x", "", "kubectl rollout restart statefulset/x -n n"),
        ("DaemonSet/x", "", "kubectl rollout restart daemonset/x -n n"),
        ("ReplicaSet/x", "", "delete its Pods, and ReplicaSet/x makes new ones"),
        ("Job/x", "", "kubectl delete job/x -n n, and create it anew"),
        ("CronJob/x", "Job/x-1", "kubectl delete job/x-1 -n n (the next run has its sandbox)"),
        ("PyTorchJob/x", "", "delete PyTorchJob/x, and create it anew"),
        ("Node/x", "", "it is a static Pod: set runtimeClassName in its file on the node x"),
        ("", "", "kubectl delete pod/p -n n, and create it anew"),
    ],
)
def test_what_to_do_fits_the_workload(workload: str, owner: str, expected: str) -> None:
    """Restarts where there are some; otherwise what must be deleted, and who makes it anew."""
    assert recreate(workload, owner, "n", "p") == expected


@given(st.sampled_from(["Deployment", "Job", "CronJob"]), st.text(min_size=1))
def test_no_name_is_more_than_a_name_in_a_command(kind: str, name: str) -> None:
    """A Pod's author may write any owner; whoever copies the command runs no more than it."""
    command = recreate(f"{kind}/{name}", f"Job/{name}", "n", "p").rpartition(" -n n")[0]
    verb = ["rollout", "restart"] if kind == "Deployment" else ["delete"]
    target = f"{'deployment' if kind == 'Deployment' else 'job'}/{name}"
    assert shlex.split(command) == ["kubectl", *verb, target]
