"""Settings: flag, then environment, then file; what is unknown or wrong is refused by name."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.settings.root import Settings, read_settings
from core.base.errors import SettingsError
from core.decision.namespaces import Mode

PORT = "--port (SALLYPORT_LISTEN__PORT, listen.port)"


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without any setting in the environment."""
    for name in os.environ:
        if name.startswith("SALLYPORT_"):
            monkeypatch.delenv(name)


def write(path: Path, text: str) -> Path:
    """Write a file of settings."""
    path.write_text(text)
    return path


Sources = Callable[[int | None, int | None, int | None], Settings]


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sources:
    """Read settings with the port given in a file (with a host), in the environment, as a flag."""

    def read(file: int | None, environment: int | None, flag: int | None) -> Settings:
        path = None
        if file is not None:
            path = write(tmp_path / "s.yaml", f"listen: {{port: {file}, host: f}}\n")
        if environment is not None:
            monkeypatch.setenv("SALLYPORT_LISTEN__PORT", str(environment))
        flags: dict[str, Any] = {"listen": {} if flag is None else {"port": flag}, "cluster": None}
        return read_settings(path, flags)

    return read


def same(one: Settings, other: Settings) -> bool:
    """Return whether all settings are equal."""
    return one.model_dump() == other.model_dump()


@pytest.mark.parametrize(
    ("file", "environment", "flag", "expected"),
    [
        (None, None, None, (9443, "127.0.0.1")),
        (1, None, None, (1, "f")),
        (None, 2, None, (2, "127.0.0.1")),
        (None, None, 3, (3, "127.0.0.1")),
        (1, 2, None, (2, "f")),
        (1, None, 3, (3, "f")),
        (None, 2, 3, (3, "127.0.0.1")),
        (1, 2, 3, (3, "f")),
        (1, 2, 0, (0, "f")),
    ],
)
def test_flag_goes_before_environment_before_file(
    sources: Sources,
    file: int | None,
    environment: int | None,
    flag: int | None,
    expected: tuple[int, str],
) -> None:
    """Setting by setting: what the higher source leaves out comes from the lower."""
    settings = sources(file, environment, flag)
    assert (settings.listen.port, settings.listen.host) == expected


def test_defaults_are_those_of_the_contract() -> None:
    """Scripts rely on it: where the gate listens when nothing is said."""
    settings = read_settings(None, {})
    assert same(settings, Settings())
    assert (settings.listen.host, settings.listen.port) == ("127.0.0.1", 9443)
    assert (settings.status.host, settings.status.port) == ("127.0.0.1", 9080)
    assert settings.default_mode is Mode.ENFORCE
    assert settings.controllers == []


def test_every_type_can_be_given_in_each_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words, paths, numbers and maps, from a file and from the environment."""
    text = "default_mode: warn\ncontrollers: [a, b]\nevaluation: {seconds: 1.5}\n"
    from_file = read_settings(write(tmp_path / "s.yaml", text), {})
    monkeypatch.setenv("SALLYPORT_DEFAULT_MODE", "warn")
    monkeypatch.setenv("SALLYPORT_CONTROLLERS", '["a", "b"]')
    monkeypatch.setenv("SALLYPORT_EVALUATION__SECONDS", "1.5")
    assert same(read_settings(None, {}), from_file)
    assert from_file.default_mode is Mode.WARN
    assert from_file.controllers == ["a", "b"]
    assert from_file.evaluation.seconds == 1.5


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("listne: {}\n", "listne (SALLYPORT_LISTNE): there is no such setting"),
        ("listen: {prot: 1}\n", "listen.prot (SALLYPORT_LISTEN__PROT): there is no such setting"),
        ("listen: {port: high}\n", f"{PORT}: high must be a whole number"),
        ("listen: {port: 65536}\n", f"{PORT}: 65536 must be at most 65535"),
        ("listen: 5\n", "listen (SALLYPORT_LISTEN): 5 must hold names and values of settings"),
        (
            "default_mode: off\n",
            "default_mode (SALLYPORT_DEFAULT_MODE): False must be 'enforce', 'warn' or 'audit'",
        ),
        ("log_format: xml\n", "log_format (SALLYPORT_LOG_FORMAT): xml must be 'json' or 'console'"),
        (
            "evaluation: {seconds: 0}\n",
            "evaluation.seconds (SALLYPORT_EVALUATION__SECONDS): 0 must be more than 0.0",
        ),
        ("max_staleness: 1\n", "max_staleness (SALLYPORT_MAX_STALENESS): 1 must be at least 5.0"),
        (
            "access: {allow_age: x}\n",
            "access.allow_age (SALLYPORT_ACCESS__ALLOW_AGE): x must be a number",
        ),
        ("controllers: {x: z}\n", "controllers (SALLYPORT_CONTROLLERS): {'x': 'z'} must be a list"),
        ("controllers: [5]\n", "controllers (SALLYPORT_CONTROLLERS)[0]: 5 must be text"),
    ],
)
def test_wrong_file_is_refused_by_the_settings_name(tmp_path: Path, text: str, named: str) -> None:
    """Each wrong setting by its path, with what it must be."""
    with pytest.raises(SettingsError) as refused:
        read_settings(write(tmp_path / "s.yaml", text), {})
    assert str(refused.value) == named


def test_all_that_is_wrong_is_named_at_once(tmp_path: Path) -> None:
    """Nobody mends one after the other."""
    path = write(tmp_path / "s.yaml", "listen: {port: x, prot: 1}\nstatus: {port: -1}\n")
    with pytest.raises(SettingsError) as refused:
        read_settings(path, {})
    for name in ("listen.port): ", "listen.prot (", "status.port ("):
        assert name in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value", "named"),
    [
        (
            "SALLYPORT_LISTEN__PROT",
            "1",
            "listen.prot (SALLYPORT_LISTEN__PROT): there is no such setting",
        ),
        ("SALLYPORT_LISTEN__PORT", "x", f"{PORT}: x must be a whole number"),
        (
            "SALLYPORT_DEFAULT_MODE",
            "off",
            "default_mode (SALLYPORT_DEFAULT_MODE): off must be 'enforce', 'warn' or 'audit'",
        ),
        ("SALLYPORT_CONTROLLERS", "{", "controllers (SALLYPORT_CONTROLLERS): is not JSON"),
    ],
)
def test_wrong_environment_is_refused_by_the_settings_name(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, named: str
) -> None:
    """As in a file."""
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as refused:
        read_settings(None, {})
    assert str(refused.value) == named


@pytest.mark.parametrize("name", ["SALLYPORT_LISTNE__PORT", "SALLYPORT_DEFAULTMODE"])
def test_unknown_name_in_the_environment_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A slip of the pen would leave the default in force, unseen."""
    monkeypatch.setenv(name, "1")
    with pytest.raises(SettingsError, match=name):
        read_settings(None, {})


@pytest.mark.parametrize(
    "name", ["SALLYPORT_OPA", "SALLYPORT_PROOF", "SALLYPORT", "LISTEN__PORT", "PORT"]
)
def test_other_names_in_the_environment_are_left_alone(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The compiler's path is `policy build`'s; the rest is not ours."""
    monkeypatch.setenv(name, "1")
    assert same(read_settings(None, {}), Settings())


SERVICE_LINKS = {
    "SALLYPORT_SERVICE_HOST": "10.0.0.1",
    "SALLYPORT_SERVICE_PORT": "443",
    "SALLYPORT_SERVICE_PORT_HTTPS": "443",
    "SALLYPORT_PORT": "tcp://10.0.0.1:443",
    "SALLYPORT_PORT_443_TCP": "tcp://10.0.0.1:443",
    "SALLYPORT_GATE_PORT_443_TCP_ADDR": "10.0.0.1",
}
"""What kubelet sets in a Pod beside Services `sallyport` and `sallyport-gate`."""


def test_variables_of_services_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Service of our name in the namespace must not keep the gate from starting."""
    for name, value in SERVICE_LINKS.items():
        monkeypatch.setenv(name, value)
    assert same(read_settings(None, {}), Settings())


def test_variable_that_is_nearly_right_names_the_right_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also one that kubelet might set, with a value that kubelet would not."""
    monkeypatch.setenv("SALLYPORT_DEFAULTMODE", "warn")
    monkeypatch.setenv("SALLYPORT_PORT", "8443")
    with pytest.raises(SettingsError) as refused:
        read_settings(None, {})
    first, second = str(refused.value).split("; SALLYPORT_PORT")
    meant = "did you mean SALLYPORT_DEFAULT_MODE?"
    assert first == f"SALLYPORT_DEFAULTMODE: there is no such setting; {meant}"
    assert second.startswith(": there is no such setting")


@pytest.mark.parametrize("text", ["- a\n", "x\n", "a: 1\n---\nb: 1\n", "5: 1\n"])
def test_file_that_is_no_settings_is_refused(tmp_path: Path, text: str) -> None:
    """YAML of another shape."""
    with pytest.raises(SettingsError):
        read_settings(write(tmp_path / "s.yaml", text), {})


@pytest.mark.parametrize("text", ["a: b: c\n", "\t\n", "\0"])
def test_file_that_is_no_yaml_is_refused(tmp_path: Path, text: str) -> None:
    """An error of ours, in one line, not YAML's traceback."""
    path = write(tmp_path / "s.yaml", text)
    with pytest.raises(SettingsError) as refused:
        read_settings(path, {})
    assert str(refused.value).startswith(f"--config {path}")
    assert "\n" not in str(refused.value)


def test_broken_yaml_names_file_and_line(tmp_path: Path) -> None:
    """Where to look."""
    path = write(tmp_path / "s.yaml", "listen:\n  port: 1\n  port: 2\n")
    with pytest.raises(SettingsError, match="line 3: "):
        read_settings(path, {})


def test_missing_file_is_refused(tmp_path: Path) -> None:
    """A file that was named must be there."""
    path = tmp_path / "none.yaml"
    with pytest.raises(SettingsError) as refused:
        read_settings(path, {})
    assert str(refused.value) == f"--config {path}: there is no such file"


def test_empty_file_says_nothing(tmp_path: Path) -> None:
    """The defaults hold."""
    assert same(read_settings(write(tmp_path / "s.yaml", ""), {}), Settings())


def test_cluster_and_kubeconfig_exclude_each_other(tmp_path: Path) -> None:
    """From whichever sources they come."""
    path = write(tmp_path / "s.yaml", "kubeconfig: /k\n")
    with pytest.raises(SettingsError, match=r"^--cluster .* and --kubeconfig .*: give one$"):
        read_settings(path, {"cluster": tmp_path})


def test_value_that_does_not_match_its_pattern_is_named(tmp_path: Path) -> None:
    """Also where the pattern, which the message quotes, has braces: a GUID's does."""
    file = write(tmp_path / "s.yaml", "weights: {tenants: [contoso]}\n")
    with pytest.raises(SettingsError, match=r"weights.tenants .*\[0\]: contoso String"):
        read_settings(file, {})
