"""`make tools` has each thing once, goes on where one cannot be had, and tells what is missing."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tools import everything, provide
from tests.tools.everything import Need, needs, provide_all
from tests.tools.programs import PROGRAMS
from tests.tools.provide import CannotProvideError, pinned_version

KUBECONFORM = PROGRAMS["kubeconform"]


class Shelf:
    """What is there, and in which order it came."""

    def __init__(self, *there: str) -> None:
        self.there = list(there)

    def need(self, name: str, queue: str = "one", minutes: float = 1, *, had: bool = True) -> Need:
        """Return a need that this shelf provides, unless it cannot be had."""

        def put() -> None:
            if not had:
                raise CannotProvideError("no such module")
            self.there.append(name)

        return Need(name, queue, lambda: name in self.there, put, minutes)


def test_what_is_cached_is_not_provided_again() -> None:
    """The second time there is nothing to do."""
    shelf = Shelf("opa")
    wanted = [shelf.need("opa"), shelf.need("etcd")]
    assert provide_all(wanted) == []
    assert provide_all(wanted) == []
    assert shelf.there == ["opa", "etcd"]


def test_each_is_told_when_it_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    """By its name, with what it took; what was there is counted."""
    shelf = Shelf("opa")
    provide_all([shelf.need("opa"), shelf.need("etcd")])
    counted, told = capsys.readouterr().out.splitlines()
    assert counted.startswith("tools: 1 of 2 cached, ")
    assert told == "tools: etcd ready, 0.0 s"


def test_one_that_is_missing_does_not_stop_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    """All that is missing is said at once, with the reason."""
    shelf = Shelf()
    wanted = [shelf.need("opa", had=False), shelf.need("etcd"), shelf.need("helm", had=False)]
    assert provide_all(wanted) == ["opa: no such module", "helm: no such module"]
    assert shelf.there == ["etcd"]
    assert "tools: opa MISSING" in capsys.readouterr().out


def test_those_of_one_queue_come_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else Go would compile the same packages twice; other queues go on beside."""
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    running: list[str] = []
    beside: set[frozenset[str]] = set()

    def build(name: str) -> Callable[[], None]:
        def call() -> None:
            running.append(name)
            for _ in range(20):
                beside.add(frozenset(running))
                time.sleep(0.005)
            running.remove(name)

        return call

    queues = {"kubelet": "kubernetes", "kubectl": "kubernetes", "helm": "helm"}
    provide_all([Need(name, queue, lambda: False, build(name)) for name, queue in queues.items()])
    assert not any({"kubelet", "kubectl"} <= each for each in beside)
    assert any(len(each) > 1 for each in beside)


def test_every_program_of_the_tests_is_needed() -> None:
    """And none that only the proof or the bench starts."""
    names = {need.name for need in needs()}
    assert {name for name, each in PROGRAMS.items() if each.is_tested_with} <= names
    assert {"kafka", "postgres", "node-packages", "firewall-packages"} <= names
    assert names.isdisjoint(name for name, each in PROGRAMS.items() if not each.is_tested_with)


def test_version_of_a_replaced_module_is_that_of_its_replacement(tmp_path: Path) -> None:
    """As Kubernetes has it for its own modules: they are required at v0.0.0."""
    (tmp_path / "go.mod").write_text(
        "require (\n\tk8s.io/api v0.0.0 // indirect\n\tk8s.io/apiserver v0.1.0\n)\n"
        "replace (\n\tk8s.io/api => k8s.io/api v0.36.3\n)\n"
    )
    assert pinned_version(tmp_path, "k8s.io/api") == "v0.36.3"
    assert pinned_version(tmp_path, "k8s.io/apiserver") == "v0.1.0"


def test_what_cannot_be_had_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`make tools` ends with the reason, and with 1."""
    monkeypatch.setattr(everything, "needs", lambda: [Shelf().need("opa", had=False)])
    assert everything.main() == 1
    assert capsys.readouterr().out.splitlines()[-1] == "tools: MISSING opa: no such module"


@pytest.mark.parametrize("file", ["go.mod", "go.sum", "main.go"])
def test_a_change_of_what_it_is_built_from_builds_it_anew(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The place in the cache has a key of all files that Go reads here."""
    shutil.copytree(provide.HERE / "kubeconform", tmp_path / "kubeconform")
    monkeypatch.setattr(provide, "HERE", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    _put(tmp_path / "cache")
    assert provide.is_cached(KUBECONFORM)
    with (tmp_path / "kubeconform" / file).open("a") as changed:
        changed.write("\n")
    assert not provide.is_cached(KUBECONFORM)


def test_the_cache_comes_before_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program is started for its version where the pinned one is there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SALLYPORT_OPA", raising=False)
    program = _put(tmp_path, "opa")
    monkeypatch.setenv("PATH", "")
    assert provide.provide("opa") == program


def test_the_environment_comes_before_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that will not do is an error: somebody asked for it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    _put(tmp_path, "opa")
    monkeypatch.setenv("SALLYPORT_OPA", "/nowhere/opa")
    with pytest.raises(CannotProvideError, match="SALLYPORT_OPA=/nowhere/opa"):
        provide.provide("opa")


def _put(cache: Path, name: str = "kubeconform") -> Path:
    """Put a program where a build would."""
    made: list[Path] = []

    def build(_: object, path: Path) -> None:
        path.touch()
        made.append(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(provide, "_build", build)
        patch.setenv("PATH", "")
        provide.provide(name)
    (program,) = made
    assert program.is_relative_to(cache)
    return program
