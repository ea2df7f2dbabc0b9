"""The command `sallyport`."""

import asyncio
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Optional

import typer
from rich.console import Console
from typer.exceptions import TyperException

from cli import exits
from cli import help as texts
from cli.logs import log_to_stderr
from cli.output import Format, print_json, print_reviewed
from cli.policy import app as policy_app
from cli.text import safe_text
from core.errors import SallyportError, SettingsError

if TYPE_CHECKING:
    from cli.settings import Settings

app = typer.Typer(
    name="sallyport",
    help="Judges what may run in a Kubernetes cluster: by what it needs, and by who may have it.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=texts.ROOT,
)
app.add_typer(policy_app, name="policy")

ClusterFlag = Annotated[
    Path | None, typer.Option(help="A folder of YAML that stands in for a cluster.", metavar="DIR")
]
KubeconfigFlag = Annotated[
    Path | None, typer.Option(help="Ask the cluster of this kubeconfig.", metavar="FILE")
]
ConfigFlag = Annotated[
    Path | None, typer.Option("--config", help="A YAML file of settings.", metavar="FILE")
]
BundleFlag = Annotated[
    Path | None, typer.Option(help="A policy bundle instead of the built-in one.", metavar="FILE")
]


def _version(value: bool) -> None:  # noqa: FBT001 (typer's callback)
    if value:
        typer.echo(f"sallyport {version('sallyport')}")
        raise typer.Exit


@app.callback()
def root(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Judges what may run in a Kubernetes cluster: by what it needs, and who may have it."""


@app.command(epilog=texts.REVIEW)
def review(
    files: Annotated[list[str], typer.Argument(help="Files, folders, or - for standard input.")],
    profile: Annotated[str | None, typer.Option(help="Judge by this profile alone.")] = None,
    as_user: Annotated[
        str | None, typer.Option("--as", help="Who submits it; without it the service account.")
    ] = None,
    as_group: Annotated[
        Optional[list[str]], typer.Option(help="A group of that user's; may be repeated.")  # noqa: UP045 (typer)
    ] = None,
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="For objects that name none.")
    ] = "default",
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    bundle: BundleFlag = None,
    config: ConfigFlag = None,
    output: Annotated[Format, typer.Option("--output", "-o", help="How to print.")] = Format.TABLE,
) -> None:
    """Say what the gate would say of manifests: of Pods, and with --as of Namespaces."""
    log_to_stderr()
    from cli.review import exit_code  # noqa: PLC0415 (keeps --help and completion quick)
    from cli.review import review as run_review  # noqa: PLC0415
    from cli.subjects import make_terms  # noqa: PLC0415

    terms = make_terms(profile, as_user, tuple(as_group or ()), namespace)
    settings = _read(config, cluster=cluster, kubeconfig=kubeconfig, bundle=bundle)
    results = asyncio.run(run_review(settings, files, terms))
    if output is Format.JSON:
        print_json([result.element for result in results])
    else:
        width = None if sys.stdout.isatty() else 160
        print_reviewed(results, Console(highlight=False, soft_wrap=True, width=width))
    raise typer.Exit(exit_code(results))


@app.command(epilog=texts.GATE)
def gate(
    cert: Annotated[
        Path | None, typer.Option(help="Serving certificate (PEM).", metavar="FILE")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="Its private key (PEM).", metavar="FILE")] = None,
    host: Annotated[str | None, typer.Option(help="Address of the webhooks.")] = None,
    port: Annotated[int | None, typer.Option(help="Port of the webhooks; 0 for any.")] = None,
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    bundle: BundleFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Serve the webhooks for kube-apiserver: /validate and /mutate."""
    from cli.serve import serve_gate  # noqa: PLC0415 (keeps --help and completion quick)

    listen = {"cert": cert, "key": key, "host": host, "port": port}
    settings = _read(
        config,
        cluster=cluster,
        kubeconfig=kubeconfig,
        bundle=bundle,
        listen={name: value for name, value in listen.items() if value is not None},
    )
    serve_gate(settings)


@app.command(epilog=texts.RUN)
def run(
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Send no example reviews.")] = False,
    bundle: BundleFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Run everything in one process on this machine, with a folder of YAML for a cluster."""
    from cli.here import serve_here  # noqa: PLC0415 (keeps --help and completion quick)

    settings = _read(config, cluster=cluster, kubeconfig=kubeconfig, bundle=bundle)
    serve_here(settings, examples=not quiet)


def _read(config: Path | None, **flags: Any) -> "Settings":
    from cli.settings import read_settings  # noqa: PLC0415 (keeps --help and completion quick)

    return read_settings(config, flags)


def main() -> NoReturn:
    """Run the command line; turn errors that are foreseen into one line and an exit code."""
    try:
        code = app(standalone_mode=False, prog_name="sallyport")
    except TyperException as error:
        _fail(_usage(error), exits.USAGE)
    except typer.Abort:
        _fail("interrupted", exits.INTERRUPTED)
    except SettingsError as error:
        _fail(str(error), exits.USAGE)
    except SallyportError as error:
        _fail(str(error), exits.NOT_JUDGED)
    except OSError as error:
        what = f"{error.filename}: " if error.filename is not None else ""
        _fail(f"{what}{error.strerror or error}", exits.USAGE if what else exits.NOT_JUDGED)
    raise SystemExit(code)


def _usage(error: Any) -> str:
    """Give the message, and where help is. The message is empty where help was printed."""
    path = error.ctx.command_path if error.ctx else "sallyport"
    return f"{error.format_message() or 'name a command'}\nTry: {path} --help"


def _fail(message: str, code: int) -> NoReturn:
    typer.echo(f"sallyport: {safe_text(message)}", err=True)
    raise SystemExit(code)
