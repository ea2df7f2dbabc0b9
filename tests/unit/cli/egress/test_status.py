"""`sallyport egress status`: what would be closed, in words, in JSON and by the exit code."""

import json
import shutil
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from cli.egress.status import percent
from tests.unit.cli.conftest import Run

EXAMPLES: Final = Path(__file__).parents[4] / "examples" / "egress"
CLUSTER: Final = ("--cluster", EXAMPLES / "cluster")
FLOWS: Final = EXAMPLES / "flows"
HEAD: Final = "namespace,service_account,pod,destination,port,verdict,count,time\n"
ALLOWED: Final = (
    "research,trainer,train-0,packages.example.org,443,forwarded,999,2026-11-20T08:00Z\n"
)
CLOSED: Final = "research,trainer,train-0,198.51.100.99,443,forwarded,1,2026-11-21T09:00:00Z\n"


def _flows(folder: Path, *rows: str) -> Path:
    file = folder / "flows.csv"
    file.write_text(HEAD + "".join(rows))
    return file


def test_rest_is_told_with_its_shares(run: Run, tmp_path: Path) -> None:
    """Flows look good, pairs do not; exit 1."""
    done = run(
        "egress", "status", "research", "--flows", _flows(tmp_path, ALLOWED, CLOSED), *CLUSTER
    )
    assert done.code == 1
    assert "99.9 % of flows from 2026-11-20T08:00:00Z to 2026-11-21T09:00:00Z" in done.out
    assert "50.0 % of pairs of workload and destination (1 of 2)" in done.out
    assert "    trainer → 198.51.100.99 TCP 443" in done.out.splitlines()
    assert "evals" not in done.out


def test_all_that_is_allowed_is_zero(run: Run, tmp_path: Path) -> None:
    """JSON has the same numbers."""
    done = run(
        "egress",
        "status",
        "-n",
        "research",
        "--flows",
        _flows(tmp_path, ALLOWED),
        *CLUSTER,
        "-o",
        "json",
    )
    (found,) = json.loads(done.out)["namespaces"]
    assert done.code == 0
    assert found["coverage"]["share"] == {
        "flows": 999,
        "allowedFlows": 999,
        "pairs": 1,
        "allowedPairs": 1,
    }
    assert found["state"] == "enforced"
    assert found["coverage"]["silentPods"] == ["notebook-ada", "old-0"]


@pytest.mark.parametrize(
    "row",
    [
        "research,trainer,train-0,not a name,443,forwarded,1,\n",
        "research,trainer,train-0,192.0.2.1,0,forwarded,1,\n",
    ],
)
def test_what_could_not_be_read_is_never_zero(run: Run, tmp_path: Path, row: str) -> None:
    """Exit 2, and it is said."""
    done = run("egress", "status", "research", "--flows", _flows(tmp_path, ALLOWED, row), *CLUSTER)
    assert done.code == 2
    assert "1 record could not be read" in done.out
    assert "more may be closed than is told" in done.out


def test_allowlists_of_files_count_as_applied(run: Run, tmp_path: Path) -> None:
    """They close the gap that they are for."""
    flows = _flows(tmp_path, ALLOWED, CLOSED)
    whole = {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "EgressAllowlist",
        "metadata": {"name": "new", "namespace": "research"},
        "spec": {
            "serviceAccounts": ["trainer"],
            "to": [{"cidr": "198.51.100.99/32", "ports": [{"protocol": "TCP", "port": 443}]}],
            "owner": "o",
            "reason": "r",
            "expiresAt": "2099-01-01T00:00:00Z",
        },
    }
    file = tmp_path / "new.yaml"
    file.write_text(yaml.safe_dump(whole))
    done = run("egress", "status", "research", "--flows", flows, "--allowlists", file, *CLUSTER)
    assert done.code == 0
    assert "100 % of flows" in done.out
    assert "allowlist new: opens all it names" in done.out


def test_without_flows_no_coverage_is_claimed(run: Run) -> None:
    """States and allowlists alone."""
    done = run("egress", "status", *CLUSTER)
    assert done.code == 0
    lines = done.out.splitlines()
    assert {"research: enforced", "evals: enforced"} <= set(lines)
    assert done.out.count("coverage is not known: give flows with --flows") == 2
    assert "  allowlist old-mirror: not all of it opens, ended 2026-01-31T00:00:00Z" in lines
    assert "  Pod rdma-check is on its node's network: no policy holds it" in lines


def _cluster(folder: Path, *objects: dict[str, Any]) -> Path:
    place = folder / "cluster"
    place.mkdir()
    (place / "all.yaml").write_text(yaml.safe_dump_all(objects))
    return place


def test_audit_conditions_and_ends_are_told(run: Run, tmp_path: Path) -> None:
    """By the namespace's label, by what control wrote, and by the allowlist's end."""
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "research", "labels": {"sallyport.dev/egress": "audit"}},
    }
    soon = {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "EgressAllowlist",
        "metadata": {"name": "old", "namespace": "research"},
        "spec": {
            "serviceAccounts": ["trainer"],
            "to": [{"cidr": "192.0.2.0/24", "ports": [{"protocol": "TCP", "port": 443}]}],
            "owner": "o",
            "reason": "r",
            "expiresAt": "2020-01-01T00:00:00Z",
        },
        "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Expired"}]},
    }
    broken = {**soon, "metadata": {"name": "broken", "namespace": "research"}, "spec": {}}
    done = run("egress", "status", "--cluster", _cluster(tmp_path, namespace, soon, broken))
    lines = done.out.splitlines()
    assert lines[0] == "research: audit"
    assert "  allowlist old: Expired, ended 2020-01-01T00:00:00Z" in lines
    assert "  allowlist broken: Invalid" in lines
    assert done.code == 2


@pytest.mark.parametrize("time", ["9" * 20, "9" * 400])
def test_times_that_are_no_dates_are_told(run: Run, tmp_path: Path, time: str) -> None:
    """A log may hold anything; JSON has no number for one beyond all numbers."""
    row = f"research,trainer,train-0,packages.example.org,443,forwarded,1,{time}\n"
    flows = _flows(tmp_path, ALLOWED, row)
    done = run("egress", "status", "research", "--flows", flows, *CLUSTER)
    assert done.code == 0
    assert "to a time that is no date" in done.out
    assert run("egress", "status", "--flows", flows, *CLUSTER, "-o", "json").code == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "acns.csv",
            "TimeGenerated [UTC],Verdict,SourceNamespace,SourceWorkloads,DestinationNamespace,"
            'Layer4,IP\n2026-11-20,FORWARDED,research,"[{""name"":""notebook"",'
            '""kind"":""StatefulSet""}]",,"{""TCP"":{""destination_port"":5432}}",'
            '"{""destination"":""192.0.2.8""}"\n',
        ),
        (
            "calico.jsonl",
            '{"reporter": "Src", "action": "Allow", "protocol": "tcp", "dest_port": 5432, '
            '"source_namespace": "research", "source_name": "notebook-ada", "dest_name": "pub", '
            '"dest_ip": "192.0.2.8", "source_type": "wep"}\n',
        ),
    ],
)
def test_formats_are_known_by_how_they_begin(
    run: Run, tmp_path: Path, name: str, text: str
) -> None:
    """Stored logs of ACNS name the workload alone: its service account is found in the cluster."""
    stateful_set = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "notebook", "namespace": "research"},
        "spec": {"template": {"spec": {"serviceAccountName": "notebooks"}}},
    }
    folder = tmp_path / "cluster"
    shutil.copytree(EXAMPLES / "cluster", folder)
    (folder / "stateful_set.yaml").write_text(yaml.safe_dump(stateful_set))
    file = tmp_path / name
    file.write_text(text)
    done = run("egress", "status", "research", "--flows", file, "--cluster", folder, "-o", "json")
    (found,) = json.loads(done.out)["namespaces"]
    assert (done.code, found["coverage"]["share"]["allowedPairs"]) == (0, 1)


def test_text_of_flows_moves_no_cursor(run: Run, tmp_path: Path) -> None:
    """A log may hold anything."""
    rows = '"re\x1b[2Jsearch",trainer,train-0,192.0.2.1,443,forwarded,1,\n'
    done = run("egress", "status", "--flows", _flows(tmp_path, ALLOWED, rows), *CLUSTER)
    assert "\x1b" not in done.out + done.err
    assert done.code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere", *CLUSTER), "there is no namespace nowhere"),
        ((), "say in which cluster"),
        (("--flows", "no-such-file", *CLUSTER), "no regular file"),
        (("--allowlists", "no-such-file", *CLUSTER), "no-such-file"),
    ],
)
def test_bad_use_is_told(run: Run, arguments: tuple[Any, ...], said: str) -> None:
    """Exit 64."""
    done = run("egress", "status", *arguments)
    assert done.code == 64
    assert said in done.err


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [(0, 0, "none"), (9999, 10000, "99.9 %"), (3, 3, "100 %"), (0, 7, "0.0 %"), (1, 3, "33.3 %")],
)
def test_shares_are_never_rounded_up(part: int, whole: int, shown: str) -> None:
    """What is not all of it is not 100 %."""
    assert percent(part, whole) == shown


def test_what_was_refused_since_an_end_is_counted(run: Run, tmp_path: Path) -> None:
    """Dropped after the end, of its account, where it led; and nothing where flows show none."""
    dropped = "research,{account},{pod},198.51.100.7,{port},{verdict},{count},{time}\n"
    rows = [
        dropped.format(account=who, pod=pod, port=port, verdict=verdict, count=count, time=time)
        for who, pod, port, verdict, count, time in (
            ("trainer", "train-0", 443, "dropped", 7, "2026-02-01T08:00:00Z"),
            ("trainer", "train-0", 443, "dropped", 100, "2026-01-30T08:00:00Z"),
            ("trainer", "train-0", 443, "forwarded", 1000, "2026-02-01T09:00:00Z"),
            ("trainer", "train-0", 80, "dropped", 10_000, "2026-02-01T09:00:00Z"),
            ("notebooks", "notebook-ada", 443, "dropped", 100_000, "2026-02-01T09:00:00Z"),
        )
    ]
    done = run("egress", "status", "research", "--flows", _flows(tmp_path, *rows), *CLUSTER)
    lines = done.out.splitlines()
    said = "    refused since its end: 7 flows, last 2026-02-01T08:00:00Z"
    assert lines[lines.index(next(each for each in lines if "old-mirror" in each)) :].count(said)
    assert done.out.count("refused since its end") == 1
    done = run("egress", "status", "research", "--flows", _flows(tmp_path, ALLOWED), *CLUSTER)
    assert "    refused since its end: nothing that these flows show" in done.out.splitlines()
    done = run("egress", "status", "research", *CLUSTER)
    assert "refused since its end" not in done.out
