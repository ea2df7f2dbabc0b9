"""`kubectl sallyport …`: the same command, about the cluster that kubectl would ask.

kubectl starts a plugin with its environment and all arguments behind the plugin's name, and
tells it nothing else (Kubernetes documentation, "Extend kubectl with plugins"). So kubectl is
asked which kubeconfig, context and namespace its rules come to.
"""

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import msgspec
import typer.main

from cli import exits
from cli.main import app, fail
from cli.main import main as run
from core.base.errors import SettingsError

NAME: Final = "kubectl sallyport"

_TERMINATED: Final = 128 + signal.SIGTERM
_OF_KUBECTL: Final = ("--context", "--kubeconfig")
_SERVES: Final = frozenset({"gate", "control", "auditor", "run"})
"""They would serve with a person's own credentials."""

_ASKS_NO_CLUSTER: Final = frozenset({"--cluster", "--help", "-h"})


class _Where(msgspec.Struct, frozen=True):
    namespace: str = ""


class _Context(msgspec.Struct, frozen=True):
    context: _Where = _Where()


class _View(msgspec.Struct, frozen=True):
    contexts: list[_Context] = []


@dataclass(frozen=True)
class Split:
    """The arguments of a command that asks a cluster."""

    command: Sequence[str]
    """The words of the command: `profile`, `suggest`."""
    rest: Sequence[str]
    """What is left for the command."""
    kubectl: Sequence[str]
    """Flags that are kubectl's to understand."""
    takes_namespace: bool


def main() -> NoReturn:
    """Run the command line with the kubeconfig, context and namespace that kubectl has."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] in _SERVES:
        fail(f"{NAME} serves nothing: use the command sallyport {arguments[0]}", exits.USAGE)
    split = split_arguments(arguments)
    if split is None:
        run(arguments, NAME)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))  # So that the folder goes.
    with tempfile.TemporaryDirectory(prefix="sallyport-") as folder:
        try:
            config = view_config(split.kubectl)
        except SettingsError as error:
            fail(str(error), exits.USAGE)
        file = Path(folder, "kubeconfig")
        file.touch(mode=0o600)
        file.write_bytes(config)
        flags = ["--kubeconfig", str(file)]
        if split.takes_namespace:
            flags += ["--namespace", _namespace(config)]
        run([*split.command, *flags, *split.rest], NAME)


def split_arguments(arguments: Sequence[str]) -> Split | None:
    """Tell the command, its arguments and kubectl's; None where no cluster is to be asked."""
    command = typer.main.get_command(app)
    words = 0
    for word in arguments:
        inner = getattr(command, "commands", {}).get(word)
        if inner is None:
            break
        command, words = inner, words + 1
    options = {option for parameter in command.params for option in parameter.opts}
    rest = arguments[words:]
    given = {word.partition("=")[0] for word in rest}
    if "--kubeconfig" not in options or given & _ASKS_NO_CLUSTER:
        return None
    kubectl, rest = _take(rest)
    return Split(arguments[:words], rest, kubectl, "--namespace" in options)


def _take(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Part kubectl's flags, with their values, from the others."""
    taken: list[str] = []
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            return taken, [*rest, word, *words]
        if word.partition("=")[0] in _OF_KUBECTL:
            taken += [word] if "=" in word else [word, *_next(words)]
        else:
            rest.append(word)
    return taken, rest


def _next(words: Iterator[str]) -> list[str]:
    return [word for word in (next(words, None),) if word is not None]


def view_config(flags: Sequence[str]) -> bytes:
    """Return kubectl's configuration of its current context, credentials and all, as JSON.

    Raises:
        SettingsError: there is no kubectl, or it has no such context.
    """
    program = shutil.which("kubectl")
    if program is None:
        raise SettingsError("kubectl is not in PATH: install it, or use the command sallyport")
    view = ["config", "view", "--raw", "--minify", "--flatten", "--output=json"]
    done = subprocess.run([program, *view, *flags], capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().removeprefix("error: ")
        advice = "choose one with kubectl config use-context, or give --context or --cluster DIR"
        raise SettingsError(f"kubectl config view: {said}: {advice}")
    return done.stdout


def _namespace(config: bytes) -> str:
    view = msgspec.json.decode(config, type=_View)
    return next((item.context.namespace for item in view.contexts), "") or "default"
