"""`kubectl sallyport …`: kubectl's kubeconfig, context and namespace, and the same command."""

import os
import signal
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml
from typer.main import get_command

from cli import kubectl
from cli.main import app
from tests.harness.programs.availability import skip_or_fail
from tests.tools.provide import CannotProvideError
from tests.unit.cli.manifests import BAD, GOOD, write

BIN = Path(sys.executable).parent
SPLITS = kubectl.split_arguments


def kubeconfig(path: Path, *contexts: str, current: str = "", namespace: str = "") -> Path:
    """Write a kubeconfig with a context, cluster and user for each name."""
    where = {"namespace": namespace} if namespace else {}
    config: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "current-context": current}
    config["clusters"] = [
        {"name": name, "cluster": {"server": f"https://{name}.invalid"}} for name in contexts
    ]
    config["users"] = [{"name": name, "user": {"token": f"token-{name}"}} for name in contexts]
    config["contexts"] = [
        {"name": name, "context": {"cluster": name, "user": name} | where} for name in contexts
    ]
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without a kubeconfig, and a folder of its own for temporary files."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def real_kubectl() -> str:
    """The person's kubectl; it asks no cluster here."""
    found = next((p for d in os.get_exec_path() if (p := Path(d, "kubectl")).exists()), None)
    if found is None:
        skip_or_fail(CannotProvideError("kubectl is not in PATH: install it"))
    return str(found)


@dataclass(frozen=True)
class Ran:
    """What the command line was started with, and the kubeconfig as it was then."""

    arguments: list[str]
    config: Any = None
    mode: int = 0

    @property
    def others(self) -> list[str]:
        """The arguments without the kubeconfig."""
        at = self.arguments.index("--kubeconfig")
        return self.arguments[:at] + self.arguments[at + 2 :]


def start(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Ran:
    """Start the plugin, up to where the command line would begin."""
    ran: list[Ran] = []

    def run(given: list[str], name: str) -> NoReturn:
        assert name == "kubectl sallyport"
        if "--kubeconfig" in given:
            file = Path(given[given.index("--kubeconfig") + 1])
            mode = stat.S_IMODE(file.stat().st_mode)
            ran.append(Ran(given, yaml.safe_load(file.read_text()), mode))
        else:
            ran.append(Ran(given))
        raise SystemExit(0)

    monkeypatch.setattr(kubectl, "run", run)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["kubectl-sallyport", *arguments])
    with pytest.raises(SystemExit):
        kubectl.main()
    return ran[0]


def test_current_context_and_its_namespace(
    monkeypatch: pytest.MonkeyPatch, home: Path, real_kubectl: str
) -> None:
    """Of ~/.kube/config, as for kubectl itself; the credentials are nobody else's, and go again."""
    (home / ".kube").mkdir()
    kubeconfig(home / ".kube" / "config", "a", "b", current="b", namespace="train")
    ran = start(monkeypatch, "review", "-o", "json", "pod.yaml")
    assert ran.others == ["review", "--namespace", "train", "-o", "json", "pod.yaml"]
    assert [user["user"]["token"] for user in ran.config["users"]] == ["token-b"]
    assert ran.mode == 0o600
    assert list((home / "tmp").iterdir()) == []


def test_several_files_are_merged_as_kubectl_does(
    monkeypatch: pytest.MonkeyPatch, home: Path, real_kubectl: str
) -> None:
    """Of KUBECONFIG's files the first that names a current context counts."""
    first = kubeconfig(home / "first", "a", current="b")
    second = kubeconfig(home / "second", "b", current="a")
    monkeypatch.setenv("KUBECONFIG", f"{first}:{second}")
    ran = start(monkeypatch, "review", "pod.yaml")
    assert ran.config["clusters"][0]["cluster"]["server"] == "https://b.invalid"
    assert ran.others == ["review", "--namespace", "default", "pod.yaml"]


@pytest.mark.parametrize("flags", [["--context", "a"], ["--context=a"]])
def test_flags_of_kubectl(
    monkeypatch: pytest.MonkeyPatch, home: Path, real_kubectl: str, flags: list[str]
) -> None:
    """--context and --kubeconfig mean what they mean to kubectl; a namespace given wins."""
    file = kubeconfig(home / "k", "a", "b", current="b", namespace="train")
    ran = start(monkeypatch, "explain", *flags, "--kubeconfig", str(file), "x", "-n", "mine")
    assert ran.config["current-context"] == "a"
    assert ran.others == ["explain", "--namespace", "train", "x", "-n", "mine"]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--help"],
        ["--version"],
        ["review", "--help"],
        ["review", "--cluster", "folder", "pod.yaml"],
        ["review", "--cluster=folder", "pod.yaml"],
        ["decisions", "--user", "alice"],
        ["policy", "build"],
        ["nonsense", "--context", "a"],
    ],
)
def test_what_asks_no_cluster_is_passed_on(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    """Without asking kubectl, and without a change."""
    monkeypatch.setenv("PATH", "")
    assert start(monkeypatch, *arguments).arguments == arguments


@pytest.mark.parametrize("command", ["gate", "control", "auditor", "run"])
def test_kubectl_plugin_refuses_to_start_servers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """Nobody serves webhooks with the credentials of their own kubeconfig by mistake."""
    monkeypatch.setattr(sys, "argv", ["kubectl-sallyport", command, "--context", "a"])
    with pytest.raises(SystemExit) as ended:
        kubectl.main()
    assert ended.value.code == 64
    told = f"kubectl sallyport serves nothing: use the command sallyport {command}"
    assert capsys.readouterr().err == f"sallyport: {told}\n"


def test_words_behind_two_dashes_are_the_commands() -> None:
    """A file may be called as a flag is."""
    split = SPLITS(["review", "--context", "c", "--", "--context", "f"])
    assert split is not None
    assert (split.kubectl, split.rest) == (["--context", "c"], ["--", "--context", "f"])


@pytest.mark.parametrize("words", [["review"], ["explain"], ["who-can"], ["profile"]])
def test_commands_that_ask_a_cluster(words: list[str]) -> None:
    """Each of these, or each of its subcommands, is given kubectl's cluster."""
    command: Any = get_command(app)
    for word in words:
        command = command.commands[word]
    inner = getattr(command, "commands", None) or {"": command}
    splits = [SPLITS([*words, *([name] if name else []), "x"]) for name in inner]
    assert [split.rest for split in splits if split] == [["x"]] * sum(map(bool, splits))
    assert any(splits)


def installed(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program with the installed plugin in PATH."""
    path = f"{BIN}:{os.environ['PATH']}"
    return subprocess.run(
        arguments,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_kubectl_finds_the_plugin(home: Path, real_kubectl: str) -> None:
    """Installed, started by kubectl: exit code and output are those of the command."""
    write(home / "a.yaml", BAD)
    write(home / "c" / "c.yaml", GOOD)
    done = installed(real_kubectl, "sallyport", "review", "--cluster", "c", "a.yaml")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[1].startswith("refused")
    help_text = installed(real_kubectl, "sallyport", "review", "--help")
    assert "Usage: kubectl sallyport review" in help_text.stdout


def test_cluster_that_does_not_answer(home: Path, real_kubectl: str) -> None:
    """It is the current context's cluster that is asked, and nothing is left behind."""
    config = kubeconfig(home / "k", "a", current="a")
    config.write_text(config.read_text().replace("https://a.invalid", "https://127.0.0.1:1"))
    write(home / "a.yaml", GOOD)
    done = installed(real_kubectl, "sallyport", "review", "a.yaml", KUBECONFIG=str(config))
    assert done.stderr.startswith("sallyport: --kubeconfig ")
    assert "GET /version: no answer" in done.stderr
    assert list((home / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "sallyport: kubectl config view: current-context must exist in order to minify: "),
        (["--context", "b"], "sallyport: kubectl config view: cannot locate context b: "),
    ],
)
def test_no_such_context_is_wrong_use(
    home: Path, real_kubectl: str, flags: list[str], message: str
) -> None:
    """Kubectl's own words, and what to do."""
    config = kubeconfig(home / "k", "a")
    done = installed(real_kubectl, "sallyport", "review", "x", *flags, KUBECONFIG=str(config))
    assert done.returncode == 64
    assert done.stderr.startswith(message)


def test_no_kubectl(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Who starts the plugin itself is told what it needs."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["kubectl-sallyport", "review", "x"])
    with pytest.raises(SystemExit) as ended:
        kubectl.main()
    assert ended.value.code == 64
    assert capsys.readouterr().err == (
        "sallyport: kubectl is not in PATH: install it, or use the command sallyport\n"
    )
