"""`sallyport egress`: where Pods may connect, and what would change that."""

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from cli import help_egress as texts
from cli.flags import ClusterFlag, ConfigFlag, KubeconfigFlag, OutputFlag, read_flags
from cli.logs import log_to_stderr
from cli.output import Format, make_console, print_json

if TYPE_CHECKING:
    from cli.settings import Settings

app = typer.Typer(help="Say where Pods may connect.", no_args_is_help=True, epilog=texts.EGRESS)


class EngineName(StrEnum):
    """What `--engine` takes."""

    NETWORKPOLICY = "networkpolicy"
    CILIUM = "cilium"
    CILIUM_AKS = "cilium-aks"


class FlowFormat(StrEnum):
    """What `--format` takes."""

    AUTO = "auto"
    HUBBLE = "hubble"
    AZURE = "azure"
    CSV = "csv"


class Written(StrEnum):
    """What `-o` takes of commands that write objects."""

    YAML = "yaml"
    JSON = "json"


class Drawn(StrEnum):
    """What `-o` takes of `graph`."""

    SVG = "svg"
    JSON = "json"


NamespaceFlag = Annotated[str | None, typer.Option("--namespace", "-n", help="In this namespace.")]
EngineFlag = Annotated[
    EngineName | None,
    typer.Option(help="What enforces policies; else the setting egress.engine."),
]
TagsFlag = Annotated[
    Path | None,
    typer.Option(help="Azure's file of service tags; else egress.tags.", metavar="FILE"),
]
Files = Annotated[
    Optional[list[str]],  # noqa: UP045 (typer)
    typer.Argument(help="Files, folders, or - for standard input.", metavar="FILES"),
]


@app.callback()
def egress() -> None:
    """Say where Pods may connect."""
    log_to_stderr()


@app.command(epilog=texts.RENDER)
def render(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    files: Files = None,
    namespace: NamespaceFlag = None,
    engine: EngineFlag = None,
    tags: TagsFlag = None,
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: Annotated[Written, typer.Option("--output", "-o", help="How to print.")] = Written.YAML,
) -> None:
    """Print the policies that intents come to, as an engine has them."""
    from cli import egress_render  # noqa: PLC0415 (keeps --help and completion quick)

    settings = _settings(config, cluster, kubeconfig, engine, tags)
    done = asyncio.run(egress_render.render(settings, files or [], namespace))
    egress_render.write(done, as_json=output is Written.JSON)
    raise typer.Exit(egress_render.exit_code(done))


@app.command(epilog=texts.PLAN)
def plan(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    files: Annotated[
        list[str], typer.Argument(help="Files, folders, or - for standard input.", metavar="FILES")
    ],
    delete: Annotated[bool, typer.Option("--delete", help="As if they were deleted.")] = False,  # noqa: FBT002 (typer)
    engine: EngineFlag = None,
    tags: TagsFlag = None,
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say which connections a change opens and closes, by who makes them."""
    from cli import egress_plan  # noqa: PLC0415 (keeps --help and completion quick)
    from cli.egress_text import print_plan  # noqa: PLC0415

    settings = _settings(config, cluster, kubeconfig, engine, tags)
    found = asyncio.run(egress_plan.make_plan(settings, files, delete=delete))
    if output is Format.JSON:
        print_json(found)
    else:
        print_plan(found, make_console())
    raise typer.Exit(egress_plan.exit_code(found))


@app.command(epilog=texts.EXPLAIN)
def explain(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    pod: Annotated[str, typer.Argument(metavar="POD", help="NAMESPACE/NAME, or with -n its name.")],
    to: Annotated[str, typer.Argument(metavar="HOST:PORT", help="HOST:PORT or HOST:PORT/udp.")],
    namespace: NamespaceFlag = None,
    engine: EngineFlag = None,
    tags: TagsFlag = None,
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say which intent opens one connection, or what is missing."""
    from cli import egress_explain  # noqa: PLC0415 (keeps --help and completion quick)
    from cli.egress_text import print_explanation  # noqa: PLC0415

    settings = _settings(config, cluster, kubeconfig, engine, tags)
    answer = asyncio.run(egress_explain.answer(settings, (namespace, pod), to))
    if output is Format.JSON:
        print_json(answer)
    else:
        print_explanation(answer, make_console())
    raise typer.Exit(egress_explain.exit_code(answer))


@app.command(epilog=texts.VERIFY)
def verify(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    pod: Annotated[
        str | None, typer.Argument(metavar="POD", help="NAMESPACE/NAME, or with -n its name.")
    ] = None,
    namespace: NamespaceFlag = None,
    others: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer)
        typer.Option("--try", metavar="HOST:PORT", help="Try this too; may be repeated."),
    ] = None,
    timeout: Annotated[
        int, typer.Option(min=1, max=60, help="Seconds until no answer counts as closed.")
    ] = 3,
    engine: EngineFlag = None,
    tags: TagsFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Try real connections from Pods, and compare them with the intents."""
    from cli import egress_verify  # noqa: PLC0415 (keeps --help and completion quick)

    settings = _settings(config, None, kubeconfig, engine, tags)
    found = asyncio.run(egress_verify.verify(settings, pod, namespace, others or [], timeout))
    if output is Format.JSON:
        print_json(found)
    else:
        egress_verify.print_verified(found, make_console())
    raise typer.Exit(egress_verify.exit_code(found))


@app.command(epilog=texts.SUGGEST)
def suggest(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    flows: Annotated[
        list[str], typer.Argument(help="Files of flows, or - for standard input.", metavar="FLOWS")
    ],
    form: Annotated[
        FlowFormat, typer.Option("--format", help="What they are; auto looks at each file.")
    ] = FlowFormat.AUTO,
    namespace: NamespaceFlag = None,
    engine: EngineFlag = None,
    tags: TagsFlag = None,
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: Annotated[Written, typer.Option("--output", "-o", help="How to print.")] = Written.YAML,
) -> None:
    """Write the least allowlists for flows that were observed, with the evidence."""
    from cli import egress_suggest  # noqa: PLC0415 (keeps --help and completion quick)

    settings = _settings(config, cluster, kubeconfig, engine, tags)
    observed = asyncio.run(egress_suggest.read_flows(settings, flows, form, namespace))
    egress_suggest.write(observed, as_json=output is Written.JSON)
    raise typer.Exit(egress_suggest.exit_code(observed))


@app.command(epilog=texts.GRAPH)
def graph(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    out: Annotated[
        Path | None, typer.Option("--out", help="The SVG to write.", metavar="FILE")
    ] = None,
    namespace: NamespaceFlag = None,
    engine: EngineFlag = None,
    tags: TagsFlag = None,
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: Annotated[
        Drawn, typer.Option("--output", "-o", help="What to make; json goes to standard output.")
    ] = Drawn.SVG,
) -> None:
    """Draw who may reach what, and what comes with it."""
    from cli import egress_graph  # noqa: PLC0415 (keeps --help and completion quick)

    if output is Drawn.SVG and out is None:
        raise typer.BadParameter("name the SVG to write", param_hint="--out")
    settings = _settings(config, cluster, kubeconfig, engine, tags)
    picture = asyncio.run(egress_graph.make_picture(settings, namespace))
    if out is not None:
        egress_graph.write_svg(picture, out)
    if output is Drawn.JSON:
        print_json(picture)


@app.command(epilog=texts.RELEASE)
def release(
    kubeconfig: KubeconfigFlag = None, config: ConfigFlag = None, output: OutputFlag = Format.TABLE
) -> None:
    """Let allowlists be deleted once Sallyport has been uninstalled."""
    from cli import egress_release  # noqa: PLC0415 (keeps --help and completion quick)

    done = asyncio.run(egress_release.release(_settings(config, None, kubeconfig, None, None)))
    if output is Format.JSON:
        print_json(done)
    else:
        egress_release.print_released(done, make_console())
    raise typer.Exit(egress_release.exit_code(done))


def _settings(
    config: Path | None,
    cluster: Path | None,
    kubeconfig: Path | None,
    engine: EngineName | None,
    tags: Path | None,
) -> "Settings":
    of_egress = {"engine": engine and engine.value, "tags": tags}
    given = {name: value for name, value in of_egress.items() if value is not None}
    return read_flags(config, cluster=cluster, kubeconfig=kubeconfig, egress=given)
