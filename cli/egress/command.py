"""`sallyport egress`: where Pods may connect, and what would change that."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from cli.egress.flags import (
    ConnlistFormat,
    DiffFormat,
    EngineFlag,
    EngineName,
    Files,
    FlowFormat,
    GraphFormat,
    NamespaceFlag,
    ObjectFormat,
    TagsFlag,
)
from cli.flags import ClusterFlag, ConfigFlag, KubeconfigFlag, OutputFlag, read_flags
from cli.output import Format, make_console, print_json
from cli.session import log_to_stderr, run_async

if TYPE_CHECKING:
    from app.settings.root import Settings
    from cli.egress.enrol import EnrolmentStep

EGRESS = """**Examples**

    sallyport egress plan intents/ --kubeconfig ~/.kube/config

    sallyport egress explain research/train-0 pkg.example.org:443 --cluster dir/

**Exit codes**: 0 open, or nothing changes; 1 closed, or something changes;
2 the cluster does not answer; 64 wrong usage."""

RENDER = """**Examples**

    sallyport egress render intents.yaml

    sallyport egress render --cluster examples/egress/cluster -n research

    sallyport egress render intents/ --engine cilium -o json

With files alone each namespace counts as enrolled, unless a Namespace in them
says otherwise. With a cluster, files lie over what it has. What stays closed
is told on standard error, with the field's path.

**Exit codes**: 0 all is rendered; 1 something stays closed that an intent
says; 2 something is broken and left out, or the cluster does not answer;
64 wrong usage, or nothing to render."""

PLAN = """**Examples**

    sallyport egress plan intents/ --kubeconfig ~/.kube/config

    sallyport egress plan intents/ --cluster examples/egress/cluster

    kubectl get eal packages -o yaml | sallyport egress plan --delete -

Files may hold EgressAllowlists, EgressDestinations and Namespaces. What waits
for an approval or a right is shown as such, and counts as a change.

**Exit codes**: 0 nothing opens or closes; 1 something does; 2 something is
broken and left out, or the cluster does not answer; 64 wrong usage, or no
intents."""

EXPLAIN = """**Examples**

    sallyport egress explain research/train-0 pkg.example.org:443 --cluster dir/

    sallyport egress explain -n research train-0 192.0.2.7:53/udp

    sallyport egress explain research/train-0 catalogue.data:80

    sallyport egress explain research/train-0 [2001:db8::7]:443 -o json

    sallyport egress explain research/train-0 pod/data/catalogue-0:8080

**Exit codes**: 0 it is open; 1 it is closed, or open to some of its addresses
alone; 2 something is broken and left out, or the cluster does not answer;
64 wrong usage, or no such Pod."""

SUGGEST = """**Examples**

    hubble observe -o json | sallyport egress suggest - > intents.yaml

    sallyport egress suggest PT1H.json --kubeconfig ~/.kube/config

    sallyport egress suggest examples/egress/flows/flows.csv

    sallyport egress suggest flows.csv -n research --tags ServiceTags.json

The columns of a CSV: namespace, service_account, pod or workload, destination,
port, protocol; and verdict, count, time. Of Pods that have ended, and of logs
that know addresses or workloads alone, the cluster tells the service account:
name it. Scans and reserved ranges are left out.

**Exit codes**: 0 done, also where nothing is suggested; 2 nothing could be
read, or the cluster does not answer; 64 wrong usage, or no such file."""

STATUS = """**Examples**

    sallyport egress status --kubeconfig ~/.kube/config

    sallyport egress status research --flows flows.jsonl --cluster dir/

    hubble observe -o json | sallyport egress status research --flows -

    sallyport egress status --flows f.csv --allowlists new.yaml --cluster dir/

Of each namespace: not enrolled, audit or enforced; its allowlists, and what of
them ends within two weeks. With flows: how many of them, and of the pairs of
workload and destination, the allowlists would allow, and what they would close.
CronJobs, Pods and namespaces of which no flow was seen are named.

**Exit codes**: 0 all that was let through is allowed, or no flows are given;
1 something would be closed; 2 flows are missing or there is none, or the cluster
does not answer; 64 wrong usage."""

GRAPH = """**Examples**

    sallyport egress graph --out egress.svg --kubeconfig ~/.kube/config

    sallyport egress graph --cluster examples/egress/cluster --out egress.svg

    sallyport egress graph -n research -o json --kubeconfig ~/.kube/config

Dashed is reach that no intent names: through Pods of namespaces that are not
enrolled, Pods on their node's network, and DNS where names are not filtered.

**Exit codes**: 0 drawn; 2 something is broken and left out, or the cluster does
not answer; 64 wrong usage, or nothing to draw."""

VERIFY = """**Examples**

    sallyport egress verify research/train-0 --kubeconfig ~/.kube/config

    sallyport egress verify -n research --kubeconfig ~/.kube/config

    sallyport egress verify research/train-0 --try 198.51.100.9:443

It runs a small program in the Pod (pods/exec), with python3, bash or nc. Tried
are what intents open, and what must be closed: metadata, the wire server, the
kubelet, kube-apiserver, Pods and destinations of others. Of a namespace one
Pod for each service account. Only TCP is tried.

**Exit codes**: 0 all is as intents say; 1 something differs; 2 something could
not be tried, or the cluster does not answer; 64 wrong usage."""

CONNLIST = """**Examples**

    sallyport egress connlist manifests/

    sallyport egress connlist --kubeconfig ~/.kube/config -n research

    sallyport egress connlist examples/egress/policies/before -o dot

Each line is `source => destination : ports`, by all NetworkPolicies of egress
and ingress together; what is no line is closed. *By address* is for engines to
which an ipBlock also means Pods, and Pods on their node's network the node. A
folder may hold NetworkPolicies, Pods, workloads, Namespaces; others' kinds of
policies are not judged: each is named on standard error, as what is broken.

**Exit codes**: 0 all is judged; 2 something is not, or the cluster does not
answer; 64 wrong usage, or nothing to judge."""

DIFF = """**Examples**

    sallyport egress diff manifests/ changed/

    sallyport egress diff manifests/ --kubeconfig ~/.kube/config

    sallyport egress diff manifests/ changed/ -o json

Compares connections as `connlist` tells them, not texts. With a kubeconfig B
is that cluster.

**Exit codes**: 0 no connection differs; 1 some do; 2 something is not judged,
or the cluster does not answer; 64 wrong usage, or nothing to judge."""

DOCTOR = """**Examples**

    sallyport egress doctor --kubeconfig ~/.kube/config > egress-values.yaml

    sallyport egress doctor --kubeconfig ~/.kube/config --config sallyport.yaml

    sallyport egress doctor --cluster network/ -o json

Tells by nodes, DaemonSets and Azure's objects which network a cluster has, and
writes values of the chart that fit, with what was found as comments. Settings
of `egress` that are given are held against it. Nothing is changed. A folder has
what `kubectl get -o yaml` prints of nodes, DaemonSets, Service kube-dns,
ConfigMap cilium-config, ServiceCIDRs and NodeNetworkConfigs.

**Exit codes**: 0 what is set can work; 1 something cannot; 2 the cluster does
not answer; 64 wrong usage."""

ENROL = """**Examples**

    sallyport egress enrol research --kubeconfig ~/.kube/config

    sallyport egress enrol research --flows flows.jsonl --close Deployment/web

    sallyport egress enrol research --flows flows.jsonl --all

Without flags it sets the label `audit`: Pods get their labels, and nothing is
closed. --close and --all close one workload or all, unless Pods lack labels,
flows show what no allowlist opens, or nobody knows. It needs the verb `exempt`.

**Exit codes**: 0 done, or nothing to do; 1 something speaks against it, and it
was not done; 2 the cluster does not answer, or refuses; 64 wrong usage."""

RELEASE = """**Examples**

    sallyport egress release research --kubeconfig ~/.kube/config

    sallyport egress release research --open --kubeconfig ~/.kube/config

    sallyport egress release --kubeconfig ~/.kube/config

    sallyport egress release -o json --kubeconfig ~/.kube/config

With a namespace, opens what is closed of it: back to `audit`, with --open out of
egress. Without one, takes the finalizer off that `control` puts on allowlists:
without `control` neither they nor their namespaces could be deleted. Policies
stay as they are. `helm uninstall` does it by itself; run it where that was told
to leave hooks out, or failed. With Sallyport installed the gate refuses it.

**Exit codes**: 0 none is held any more; 1 some still are, with why; 2 the
cluster does not answer; 64 wrong usage."""


app = typer.Typer(help="Say where Pods may connect.", no_args_is_help=True, epilog=EGRESS)


@app.callback()
def egress() -> None:
    """Say where Pods may connect."""
    log_to_stderr()


@app.command(epilog=RENDER)
def render(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    files: Files = None,
    namespace: NamespaceFlag = None,
    engine: EngineFlag = None,
    tags: TagsFlag = None,
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: Annotated[
        ObjectFormat, typer.Option("--output", "-o", help="How to print.")
    ] = ObjectFormat.YAML,
) -> None:
    """Print the policies that intents come to, as an engine has them."""
    from cli.egress import render as egress_render  # noqa: PLC0415 (keeps --help and completion quick)

    settings = _settings(config, cluster, kubeconfig, engine, tags)
    done = run_async(egress_render.render(settings, files or [], namespace))
    egress_render.write(done, as_json=output is ObjectFormat.JSON)
    raise typer.Exit(egress_render.exit_code(done))


@app.command(epilog=PLAN)
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
    from cli.egress import plan as egress_plan  # noqa: PLC0415 (keeps --help and completion quick)

    settings = _settings(config, cluster, kubeconfig, engine, tags)
    found, left_out = run_async(egress_plan.make_plan(settings, files, delete=delete))
    if output is Format.JSON:
        print_json(found)
    else:
        egress_plan.print_plan(found, make_console())
    raise typer.Exit(egress_plan.exit_code(found, left_out=left_out))


@app.command(epilog=EXPLAIN)
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
    from cli.egress import explain as egress_explain  # noqa: PLC0415 (keeps --help and completion quick)

    settings = _settings(config, cluster, kubeconfig, engine, tags)
    asked = egress_explain.explain_connection(settings, (namespace, pod), to)
    answer, left_out = run_async(asked)
    if output is Format.JSON:
        print_json(answer)
    else:
        egress_explain.print_explanation(answer, make_console())
    raise typer.Exit(egress_explain.exit_code(answer, left_out=left_out))


@app.command(epilog=VERIFY)
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
    from cli.egress import verify as egress_verify  # noqa: PLC0415 (keeps --help and completion quick)

    settings = _settings(config, None, kubeconfig, engine, tags)
    found = run_async(egress_verify.verify(settings, pod, namespace, others or [], timeout))
    if output is Format.JSON:
        print_json(found)
    else:
        egress_verify.print_verified(found, make_console())
    raise typer.Exit(egress_verify.exit_code(found))


@app.command(epilog=SUGGEST)
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
    output: Annotated[
        ObjectFormat, typer.Option("--output", "-o", help="How to print.")
    ] = ObjectFormat.YAML,
) -> None:
    """Write the least allowlists for flows that were observed, with the evidence."""
    from cli.egress import suggest as egress_suggest  # noqa: PLC0415 (keeps --help and completion quick)

    settings = _settings(config, cluster, kubeconfig, engine, tags)
    observed = run_async(egress_suggest.read_flows(settings, flows, form, namespace))
    egress_suggest.write(observed, as_json=output is ObjectFormat.JSON)
    raise typer.Exit(egress_suggest.exit_code(observed))


@app.command(epilog=STATUS)
def status(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    place: Annotated[
        str | None, typer.Argument(metavar="NAMESPACE", help="Else all that have to do with it.")
    ] = None,
    flows: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer)
        typer.Option("--flows", metavar="FILE", help="Flows, or -; may be repeated."),
    ] = None,
    form: Annotated[
        FlowFormat, typer.Option("--format", help="What they are; auto looks at each file.")
    ] = FlowFormat.AUTO,
    allowlists: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer)
        typer.Option("--allowlists", metavar="FILE", help="As if these were applied, too."),
    ] = None,
    namespace: NamespaceFlag = None,
    engine: EngineFlag = None,
    tags: TagsFlag = None,
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say which namespaces are enrolled, and what observed flows closing them would close."""
    from cli.egress import status as egress_status  # noqa: PLC0415 (keeps --help and completion quick)

    settings = _settings(config, cluster, kubeconfig, engine, tags)
    asked = egress_status.StatusQuestion(place or namespace, flows or [], form, allowlists or [])
    found = run_async(egress_status.read_status(settings, asked))
    if output is Format.JSON:
        print_json(found)
    else:
        egress_status.print_status(found, make_console(), time.time())
    raise typer.Exit(egress_status.exit_code(found))


@app.command(epilog=GRAPH)
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
        GraphFormat,
        typer.Option("--output", "-o", help="What to make; json goes to standard output."),
    ] = GraphFormat.SVG,
) -> None:
    """Draw who may reach what, and what comes with it."""
    from cli.egress import graph as egress_graph  # noqa: PLC0415 (keeps --help and completion quick)

    if output is GraphFormat.SVG and out is None:
        raise typer.BadParameter("name the SVG to write", param_hint="--out")
    settings = _settings(config, cluster, kubeconfig, engine, tags)
    picture, left_out = run_async(egress_graph.make_picture(settings, namespace))
    if out is not None:
        egress_graph.write_svg(picture, out)
    if output is GraphFormat.JSON:
        print_json(picture)
    raise typer.Exit(egress_graph.exit_code(left_out=left_out))


@app.command(epilog=CONNLIST)
def connlist(
    path: Annotated[
        str | None, typer.Argument(help="A file, a folder, or - for standard input.")
    ] = None,
    namespace: NamespaceFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: Annotated[
        ConnlistFormat, typer.Option("--output", "-o", help="How to print.")
    ] = ConnlistFormat.TABLE,
) -> None:
    """List every connection that NetworkPolicies leave open."""
    from cli.egress import connlist as egress_connlist  # noqa: PLC0415 (keeps --help and completion quick)

    settings = _settings(config, None, kubeconfig, None, None)
    report = run_async(egress_connlist.list_connections(settings, path, namespace))
    egress_connlist.write(report, output)
    raise typer.Exit(egress_connlist.exit_code(report))


@app.command(epilog=DIFF)
def diff(
    before: Annotated[str, typer.Argument(metavar="A", help="A file or folder, as it was.")],
    after: Annotated[
        str | None, typer.Argument(metavar="B", help="The same, as it becomes.")
    ] = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: Annotated[
        DiffFormat, typer.Option("--output", "-o", help="How to print.")
    ] = DiffFormat.TABLE,
) -> None:
    """Say which connections differ between two sets of NetworkPolicies."""
    from cli.egress import diff as egress_diff  # noqa: PLC0415 (keeps --help and completion quick)

    settings = _settings(config, None, kubeconfig, None, None)
    found = run_async(egress_diff.compare(settings, before, after))
    egress_diff.write(found, output)
    raise typer.Exit(egress_diff.exit_code(found))


@app.command(epilog=DOCTOR)
def doctor(
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Tell which network a cluster has, and which settings it needs."""
    from cli.egress import doctor as egress_doctor  # noqa: PLC0415 (keeps --help and completion quick)

    settings = _settings(config, cluster, kubeconfig, None, None)
    compares = config is not None or bool(settings.egress.model_fields_set)
    report = run_async(egress_doctor.look_at_network(settings, compares=compares))
    if output is Format.JSON:
        print_json(report)
    else:
        egress_doctor.print_report(report, make_console())
    raise typer.Exit(egress_doctor.exit_code(report))


@app.command(epilog=ENROL)
def enrol(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    place: Annotated[str, typer.Argument(metavar="NAMESPACE", help="Which to enrol.")],
    close: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer)
        typer.Option("--close", metavar="KIND/NAME", help="Close this workload; may be repeated."),
    ] = None,
    whole: Annotated[bool, typer.Option("--all", help="Close all of it.")] = False,  # noqa: FBT002 (typer)
    force: Annotated[bool, typer.Option("--force", help="Whatever speaks against it.")] = False,  # noqa: FBT002 (typer)
    flows: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer)
        typer.Option("--flows", metavar="FILE", help="Flows, or -; may be repeated."),
    ] = None,
    form: Annotated[
        FlowFormat, typer.Option("--format", help="What they are; auto looks at each file.")
    ] = FlowFormat.AUTO,
    engine: EngineFlag = None,
    tags: TagsFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Enrol a namespace step by step: audit, close one workload, close all."""
    from cli.egress import enrol as egress_enrol  # noqa: PLC0415 (keeps --help and completion quick)

    if close and whole:
        raise typer.BadParameter("goes without --close: say one of them", param_hint="--all")
    settings = _settings(config, None, kubeconfig, engine, tags)
    asked = egress_enrol.EnrolQuestion(
        namespace=place,
        flows=flows or [],
        form=form,
        close=close or [],
        whole=whole,
        force=force,
    )
    step = run_async(egress_enrol.enrol(settings, asked))
    _show_step(step, output)
    raise typer.Exit(egress_enrol.exit_code(step))


def _show_step(step: "EnrolmentStep", output: Format) -> None:
    from cli.egress.enrol import print_step  # noqa: PLC0415 (keeps --help and completion quick)

    if output is Format.JSON:
        print_json(step)
    else:
        print_step(step, make_console())


@app.command(epilog=RELEASE)
def release(
    place: Annotated[
        str | None, typer.Argument(metavar="NAMESPACE", help="Else allowlists, to uninstall.")
    ] = None,
    to_open: Annotated[bool, typer.Option("--open", help="Out of egress, not to audit.")] = False,  # noqa: FBT002 (typer)
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Open a namespace again; or let allowlists be deleted after an uninstall."""
    from cli.egress import release as egress_release  # noqa: PLC0415 (keeps --help and completion quick)

    settings = _settings(config, None, kubeconfig, None, None)
    if place is not None:
        from cli.egress import enrol as egress_enrol  # noqa: PLC0415 (the same)

        step = run_async(egress_enrol.release_namespace(settings, place, to_open=to_open))
        _show_step(step, output)
        raise typer.Exit(0)
    if to_open:
        raise typer.BadParameter("goes with a namespace", param_hint="--open")
    done = run_async(egress_release.release(settings))
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
