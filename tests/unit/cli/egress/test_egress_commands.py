"""`sallyport egress`: each command on the example cluster, and on bad input."""

import json
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.unit.cli.conftest import Run

EXAMPLES: Final = Path(__file__).parents[4] / "examples" / "egress"
CLUSTER: Final = ("--cluster", EXAMPLES / "cluster")
SETTLED: Final = (*CLUSTER, "--config", EXAMPLES / "settings.yaml")
"""The same, with the settings of its controller."""
CHANGE: Final = EXAMPLES / "change"
FLOWS: Final = EXAMPLES / "flows"
DOCS: Final = EXAMPLES.parents[1] / "docs" / "operate"


def _intent(folder: Path, **spec: Any) -> Path:
    whole = {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "EgressAllowlist",
        "metadata": {"name": "new", "namespace": "research"},
        "spec": {
            "serviceAccounts": ["trainer"],
            "to": [{"cidr": "192.0.2.0/24", "ports": [{"protocol": "TCP", "port": 443}]}],
            "owner": "o",
            "reason": "r",
            "expiresAt": "2099-01-01T00:00:00Z",
            **spec,
        },
    }
    file = folder / "intent.yaml"
    file.write_text(yaml.safe_dump(whole))
    return file


def test_plan_tells_connections(run: Run) -> None:
    """Opened, closed, waiting; and what is beside it. Exit 1: something changes."""
    done = run("egress", "plan", CHANGE, *CLUSTER)
    assert done.code == 1
    lines = done.out.splitlines()
    assert any(line.startswith("+ research/trainer → files.example.org TCP 443") for line in lines)
    assert any(line.startswith("- research/trainer → service data/catalogue") for line in lines)
    assert "not yet: two people must approve it: 198.18.0.0/15" in done.out
    assert "beside it: Pod research/rdma-check is on its node's network" in done.out
    assert done.err == ""


def test_plan_of_what_is_there_changes_nothing(run: Run) -> None:
    """Exit 0."""
    done = run("egress", "plan", EXAMPLES / "cluster" / "intents.yaml", *CLUSTER)
    assert (done.code, done.out.splitlines()[0]) == (0, "Nothing opens or closes.")


def test_plan_of_a_deletion(run: Run) -> None:
    """Closes what it opened; JSON has the same."""
    file = EXAMPLES / "cluster" / "intents.yaml"
    done = run("egress", "plan", "--delete", file, *CLUSTER, "-o", "json")
    changes = json.loads(done.out)["changes"]
    assert done.code == 1
    assert {each["sign"] for each in changes} == {"-"}
    assert {"packages.example.org", "192.0.2.0/24"} <= {each["to"] for each in changes}


def test_plan_reads_standard_input(run: Run, tmp_path: Path) -> None:
    """As `kubectl get -o yaml` writes it."""
    text = _intent(tmp_path).read_bytes()
    done = run("egress", "plan", "-", *CLUSTER, stdin=text)
    assert "+ research/trainer → 192.0.2.0/24 TCP 443 (allowlist new)" in done.out


@pytest.mark.parametrize(
    ("to", "code", "said"),
    [
        ("packages.example.org:443", 0, "OPEN: research/train-0"),
        ("catalogue.data:80", 0, "OPEN"),
        ("198.51.100.7:443", 1, "it has expired"),
        ("203.0.113.80:80", 1, "opens TCP 443 there, not TCP 80"),
        ("169.254.169.254:80", 1, "reserved range"),
        ("pod/kube-system/coredns-0:53/udp", 0, "sallyport-dns"),
    ],
)
def test_explain(run: Run, to: str, code: int, said: str) -> None:
    """Open is 0, closed is 1; with the intent, or with what is missing."""
    done = run("egress", "explain", "research/train-0", to, *SETTLED)
    assert done.code == code
    assert said in done.out
    as_json = run("egress", "explain", "-n", "research", "train-0", to, *SETTLED, "-o", "json")
    assert as_json.code == code
    assert json.loads(as_json.out)["verdict"] in {"open", "closed"}


def test_explain_says_that_no_network_of_pods_is_set(run: Run) -> None:
    """Without it no address of a Service's Pods counts, as for the controller."""
    done = run("egress", "explain", "research/train-0", "catalogue.data:80", *CLUSTER)
    assert done.code == 1
    assert "set egress.ranges.pods" in done.out


def test_namespace_of_the_pod_counts_before_the_flag(run: Run) -> None:
    """`kubectl sallyport` gives the context's with every command."""
    done = run(
        "egress", "explain", "-n", "evals", "research/train-0", "packages.example.org:443", *CLUSTER
    )
    assert (done.code, done.out.split(" ")[:2]) == (0, ["OPEN:", "research/train-0"])


@pytest.mark.parametrize("engine", ["networkpolicy", "cilium", "cilium-aks", "cilium-aks-basic"])
def test_render_gives_whole_objects(run: Run, engine: str) -> None:
    """The default deny first of all; what stays closed is told on standard error, and by 1."""
    done = run("egress", "render", *CLUSTER, "--engine", engine)
    objects = list(yaml.safe_load_all(done.out))
    assert done.code == 1
    assert "sallyport: closed: research: EgressAllowlist old-mirror: it has expired" in done.err
    found = {(each["metadata"]["namespace"], each["metadata"]["name"]) for each in objects}
    assert {("research", "sallyport-default-deny"), ("evals", "sallyport-dns")} <= found
    assert all(each["metadata"]["namespace"] in {"research", "evals"} for each in objects)


def test_render_of_files_alone(run: Run, tmp_path: Path) -> None:
    """Counts each namespace as enrolled; all is rendered: 0."""
    done = run("egress", "render", _intent(tmp_path), "-o", "json")
    items = json.loads(done.out)["items"]
    assert (done.code, done.err, len(items)) == (0, "", 3)


@pytest.mark.parametrize("name", ["hubble.jsonl", "flows.csv", "azure.json"])
def test_suggest_writes_intents_that_plan_reads(run: Run, tmp_path: Path, name: str) -> None:
    """Whatever observed them; with the evidence as comments."""
    done = run("egress", "suggest", FLOWS / name, *CLUSTER)
    assert done.code == 0
    assert "flow" in done.out
    file = tmp_path / "suggested.yaml"
    file.write_text(done.out)
    if any(yaml.safe_load_all(done.out)):
        assert run("egress", "plan", file, *CLUSTER).code in {0, 1}


def test_suggest_never_gives_metadata(run: Run) -> None:
    """It tells that somebody tried."""
    done = run("egress", "suggest", FLOWS / "hubble.jsonl", "-o", "json")
    suggestions = json.loads(done.out)["suggestions"]
    assert "169.254.169.254" not in json.dumps([each["entries"] for each in suggestions])
    left = [one["to"] for each in suggestions for one in each["leftOut"]]
    assert "169.254.169.254" in left


def test_suggest_survives_times_that_are_no_dates(run: Run, tmp_path: Path) -> None:
    """Files of flows are others' text: a year 10,000 in one ends nothing."""
    file = tmp_path / "flows.csv"
    row = f"research,trainer,packages.example.org,443,tcp,{'9' * 400}\n"
    file.write_text(f"namespace,service_account,destination,port,protocol,time\n{row}", "utf-8")
    done = run("egress", "suggest", file)
    assert done.code == 0
    assert "a time that is no date" in done.out


def test_suggest_counts_bad_lines(run: Run, tmp_path: Path) -> None:
    """Some are told and left out; nothing but them is an error."""
    file = tmp_path / "flows.csv"
    head = "namespace,service_account,destination,port,protocol\n"
    file.write_text(
        f"{head}research,trainer,packages.example.org,443,tcp\nresearch,trainer,packages.example.org,0,tcp\n"
    )
    done = run("egress", "suggest", file)
    assert done.code == 0
    assert "record 3: port: 0 must be between" in done.err
    file.write_text(f"{head}research,trainer,packages.example.org,0,tcp\n")
    assert run("egress", "suggest", file).code == 2


def test_graph_writes_a_picture(run: Run, tmp_path: Path) -> None:
    """SVG, and the same as JSON."""
    out = tmp_path / "g.svg"
    done = run("egress", "graph", *CLUSTER, "--out", out)
    assert (done.code, done.out) == (0, "")
    ET.fromstring(out.read_text())  # noqa: S314 (our own text)
    picture = json.loads(run("egress", "graph", *CLUSTER, "-o", "json").out)
    assert picture["leftOut"] == ["data", "kube-system"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plan",), "FILES"),
        (("plan", "no-such-file"), "does not exist"),
        (("plan", EXAMPLES / "cluster" / "pods.yaml"), "no EgressAllowlist"),
        (("plan", CHANGE, "--engine", "calico"), "is not one of 'networkpolicy'"),
        (("plan", CHANGE, "--tags", "no-such-file"), "no-such-file"),
        (("plan", "--delete", EXAMPLES / "cluster" / "namespaces.yaml", *CLUSTER), "Namespace"),
        (("render",), "name FILES, or a cluster"),
        (("explain", "research/train-0", "packages.example.org:443"), "say in which cluster"),
        (("explain", "research/train-0", "packages.example.org", *CLUSTER), "must be HOST:PORT"),
        (
            ("explain", "research/nobody", "packages.example.org:443", *CLUSTER),
            "no such Pod runs; there: ",
        ),
        (("verify",), "give --kubeconfig FILE"),
        (("graph", *CLUSTER), "--out"),
        (("graph", "--out", "x.svg"), "say which cluster"),
        (("graph", "-n", "data", "-o", "json", *CLUSTER), "is not enrolled"),
        (("graph", "--out", "no/such/folder/x.svg", *CLUSTER), "No such file"),
        (("suggest", "no-such-file"), "no regular file"),
        (("suggest", FLOWS, "--format", "pcap"), "is not one of"),
        (("verify", "research/train-0"), "give --kubeconfig FILE"),
    ],
)
def test_bad_use_is_told(run: Run, arguments: tuple[object, ...], said: str) -> None:
    """One line that names what is wrong and what to do; exit 64."""
    done = run("egress", *arguments)
    assert done.code == 64
    assert said in " ".join(done.err.split())
    assert done.out == ""


def test_broken_intent_is_told_with_its_place(run: Run, tmp_path: Path) -> None:
    """File, object and field; exit 2, as for every broken object."""
    to = [{"cidr": "10.0.0.1/8", "ports": [{"protocol": "TCP", "port": 443}]}]
    done = run("egress", "plan", _intent(tmp_path, to=to))
    assert done.code == 2
    assert "intent.yaml#1: EgressAllowlist new: spec.to[0].cidr" in done.err
    assert "write 10.0.0.0/8" in done.err


BROKEN: Final = """
apiVersion: sallyport.dev/v1alpha1
kind: EgressAllowlist
metadata: {name: broken, namespace: research}
spec: {serviceAccounts: [trainer], owner: o, reason: r, expiresAt: "2099-01-01T00:00:00Z",
  to: [{cidr: 192.0.2.0/240, ports: [{protocol: TCP, port: 443}]}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: broken, namespace: research}
rules: all
"""


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("render", "FILES"), "sallyport-allow-new-0"),
        (("render", "--cluster", "FILES"), "sallyport-allow-new-0"),
        (("plan", "FILES"), "+ research/trainer → 192.0.2.0/24 TCP 443"),
        (("plan", "FILES", *CLUSTER), "+ research/trainer → 192.0.2.0/24 TCP 443"),
        (("explain", "research/one", "192.0.2.1:443", "--cluster", "FILES"), "OPEN"),
        (("graph", "-o", "json", "--cluster", "FILES"), "192.0.2.0/24"),
        (("status", "--cluster", "FILES"), "allowlist new"),
    ],
)
def test_what_is_broken_in_a_folder_ends_nothing(
    run: Run, tmp_path: Path, command: tuple[Any, ...], said: str
) -> None:
    """It is named with file and field, all else is done, and exit 2 says that it is not whole."""
    _intent(tmp_path)
    (tmp_path / "a.yaml").write_text(BROKEN)
    (tmp_path / "b.yaml").write_text("kind: [\n")
    (tmp_path / "pods.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: one, namespace: research, labels: "
        "{egress.sallyport.dev/service-account: trainer}}\n"
        "spec: {serviceAccountName: trainer}\n---\n"
        "apiVersion: v1\nkind: Namespace\n"
        "metadata: {name: research, labels: {sallyport.dev/egress: deny}}\n"
    )
    done = run("egress", *(tmp_path if word == "FILES" else word for word in command))
    assert said in done.out
    assert "a.yaml#1: EgressAllowlist broken: spec.to[0].cidr: '192.0.2.0/240'" in done.err
    assert "b.yaml, line 2" in done.err
    assert ("a.yaml#2" in done.err) == (command[-2:] == ("--cluster", "FILES"))
    assert done.code == 2


def test_terminal_escapes_are_spelt_out(run: Run, tmp_path: Path) -> None:
    """Words of others do not reach the terminal as commands."""
    done = run("egress", "plan", _intent(tmp_path, reason="\x1b[2J"), *CLUSTER)
    assert "\x1b[2J" not in done.out
    file = tmp_path / "flows.csv"
    head = "namespace,service_account,pod,destination,port\n"
    file.write_text(f"{head}research,trainer,\x1b[2J,192.0.2.1,443\n")
    done = run("egress", "suggest", file)
    assert "\x1b" not in done.out + done.err


def test_documentation_shows_what_is_printed(run: Run, tmp_path: Path) -> None:
    """The plan of the example, to the letter, and its picture, to the byte."""
    page = (DOCS / "egress-tools.md").read_text()
    shown = page.partition("--cluster examples/egress/cluster\n")[2].partition("```")[0]
    done = run("egress", "plan", CHANGE, *CLUSTER)
    assert done.out.startswith(shown)
    assert len(shown.splitlines()) == 5
    out = tmp_path / "g.svg"
    run("egress", "graph", *SETTLED, "--out", out)
    assert out.read_bytes() == (DOCS / "egress-graph.svg").read_bytes()


@pytest.mark.parametrize(
    "words",
    [
        ("plan", CHANGE, *CLUSTER),
        ("explain", "research/train-0", "packages.example.org:443", *CLUSTER),
        ("suggest", FLOWS / "flows.csv"),
        ("graph", *CLUSTER),
    ],
    ids=lambda words: words[0],
)
def test_what_programs_read_has_a_format(run: Run, words: tuple[Any, ...]) -> None:
    """So that a release that says more, or otherwise, can be told apart."""
    assert json.loads(run("egress", *words, "-o", "json").out)["format"] == 1


@pytest.mark.parametrize("command", ["render", "plan", "explain", "verify", "suggest", "graph"])
def test_each_command_takes_what_the_site_is_like(run: Run, command: str) -> None:
    """Engine, file of tags and settings: without them it would go by another site's meaning."""
    done = run("egress", command, "--help")
    assert done.code == 0
    for flag in ("--engine", "--tags", "--config", "--output", "Examples", "Exit codes"):
        assert flag in done.out, flag


NETWORK: Final = """
apiVersion: v1
kind: Node
metadata:
  name: aks-a
  labels:
    kubernetes.azure.com/ebpf-dataplane: cilium
    kubernetes.azure.com/localdns-state: enabled
spec: {podCIDRs: [10.244.0.0/24]}
status: {addresses: [{type: InternalIP, address: 10.224.0.4}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: cilium, namespace: kube-system}
spec: {template: {spec: {containers: [{name: cilium-agent, image: "mcr.example/cilium:v1.18.6"}]}}}
"""


def test_doctor_writes_values_and_what_it_saw(run: Run, tmp_path: Path) -> None:
    """What it prints is a file of values: all else are comments. Exit 0: nothing is set wrong."""
    file = tmp_path / "network.yaml"
    file.write_text(NETWORK)
    done = run("egress", "doctor", "--cluster", file)
    assert done.code == 0
    values = yaml.safe_load(done.out)["egress"]
    assert values["engine"] == "cilium-aks-basic"
    assert values["dns"]["addresses"] == ["169.254.10.10/32", "169.254.10.11/32"]
    assert "# Azure CNI powered by Cilium, without ACNS security" in done.out
    assert "LocalDNS is on: 1 of 1 nodes" in done.out
    told = json.loads(run("egress", "doctor", "--cluster", file, "-o", "json").out)
    assert told["values"] == values


def test_doctor_holds_settings_against_the_network(run: Run, tmp_path: Path) -> None:
    """Exit 1, naming the setting and what it must be."""
    file, config = tmp_path / "network.yaml", tmp_path / "sallyport.yaml"
    file.write_text(NETWORK)
    config.write_text("egress: {engine: cilium}\n")
    done = run("egress", "doctor", "--cluster", file, "--config", config)
    assert done.code == 1
    assert "# wrong: egress.engine: cilium is set, and this network" in done.out
    assert "# wrong: egress.dns.addresses: 169.254.10.10/32 answers DNS" in done.out


def test_doctor_tells_settings_that_start_nowhere(run: Run, tmp_path: Path) -> None:
    """It does not end at what a process would end at: it says so, and what fits instead."""
    file, config = tmp_path / "network.yaml", tmp_path / "sallyport.yaml"
    file.write_text(NETWORK)
    dns = "{addresses: [169.254.10.10/32]}"
    config.write_text(f"egress: {{engine: cilium-aks, dns: {dns}}}\n")
    done = run("egress", "doctor", "--cluster", file, "--config", config)
    assert done.code == 1
    assert "# wrong: egress: egress.engine: cilium-aks opens names" in done.out
    assert yaml.safe_load(done.out)["egress"]["engine"] == "cilium-aks-basic"


def test_doctor_needs_something_to_look_at(run: Run, tmp_path: Path) -> None:
    """No cluster, or a folder without nodes: exit 64 with what to give."""
    done = run("egress", "doctor")
    assert (done.code, "give --cluster DIR or --kubeconfig FILE" in done.err) == (64, True)
    done = run("egress", "doctor", *CLUSTER)
    assert done.code == 64
    assert "kubectl get nodes,daemonsets" in done.err
