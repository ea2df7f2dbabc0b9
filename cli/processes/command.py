"""The commands that run a process: `gate`, `control`, `auditor`; `run`, which is all of them."""

from pathlib import Path
from typing import Annotated

import typer

from cli.flags import BundleFlag, ClusterFlag, ConfigFlag, KubeconfigFlag, LedgerFlag, read_flags

GATE = """**Examples**

    sallyport gate --cert tls.crt --key tls.key

    sallyport gate --kubeconfig ~/.kube/config --cert tls.crt --key tls.key

    SALLYPORT_LISTEN__PORT=8443 sallyport gate --config gate.yaml

**Exit codes**: 0 stopped in order; 1 requests were cut off; 2 could not
start; 64 wrong usage."""

CONTROL = """**Examples**

    sallyport control --config control.yaml

    sallyport control --kubeconfig ~/.kube/config

Without --kubeconfig it is the cluster that it runs in. Several may run: one
leads, by the Lease sallyport-control, and another takes over within 20 s.

**Exit codes**: 0 stopped in order; 2 could not start; 64 wrong usage."""

AUDITOR = """**Examples**

    sallyport auditor --config auditor.yaml

    sallyport auditor --config auditor.yaml --ledger sqlite:///ledger.db

The URL of a PostgreSQL, with its password, belongs in SALLYPORT_LEDGER__URL.
The settings `receive.cert`, `receive.key` and `receive.client_ca` are needed.

**Exit codes**: 0 stopped in order; 1 requests were cut off; 2 could not
start; 64 wrong usage."""

RUN = """**Examples**

    sallyport run

    sallyport run --cluster my-cluster/ --quiet

The certificate, its key, the log and the ledger of decisions lie in
$XDG_STATE_HOME/sallyport/run (~/.local/state/sallyport/run).

**Exit codes**: 0 stopped in order; 1 requests were cut off; 2 could not
start; 64 wrong usage."""


def gate(  # noqa: PLR0913, PLR0917 (one parameter a flag)
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
    from app.processes.gate.process import serve_gate  # noqa: PLC0415 (keeps --help and completion quick)

    listen = {"cert": cert, "key": key, "host": host, "port": port}
    settings = read_flags(
        config,
        cluster=cluster,
        kubeconfig=kubeconfig,
        bundle=bundle,
        listen={name: value for name, value in listen.items() if value is not None},
    )
    serve_gate(settings)


def control(
    kubeconfig: KubeconfigFlag = None,
    bundle: BundleFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Look after a cluster: certificates, keys, definitions, sweeps. One replica leads."""
    from app.processes.control.process import serve_control  # noqa: PLC0415 (keeps --help and completion quick)

    serve_control(read_flags(config, kubeconfig=kubeconfig, bundle=bundle))


def auditor(
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Keep what the gates record: takes it over mutual TLS, stores it once, forgets old days."""
    from app.processes.auditor.process import serve_auditor  # noqa: PLC0415 (keeps --help and completion quick)

    serve_auditor(read_flags(config, ledger=ledger))


def run(
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Send no example reviews.")] = False,  # noqa: FBT002 (typer's flags)
    bundle: BundleFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Run everything in one process on this machine, with a folder of YAML for a cluster."""
    from app.processes.run.process import serve_locally  # noqa: PLC0415 (keeps --help and completion quick)
    from cli.processes.showcase import Showcase  # noqa: PLC0415

    settings = read_flags(config, cluster=cluster, kubeconfig=kubeconfig, bundle=bundle)
    serve_locally(settings, lambda gate: Showcase(gate).start, examples=not quiet)
