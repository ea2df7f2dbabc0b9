"""The commands that run a process: `gate`, `control`, `auditor`; `run`, which is all of them."""

from pathlib import Path
from typing import Annotated

import typer

from cli.flags import BundleFlag, ClusterFlag, ConfigFlag, KubeconfigFlag, LedgerFlag, read_flags


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
    from cli.serve import serve_gate  # noqa: PLC0415 (keeps --help and completion quick)

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
    from cli.control import serve_control  # noqa: PLC0415 (keeps --help and completion quick)

    serve_control(read_flags(config, kubeconfig=kubeconfig, bundle=bundle))


def auditor(
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Keep what the gates record: takes it over mutual TLS, stores it once, forgets old days."""
    from cli.auditor import serve_auditor  # noqa: PLC0415 (keeps --help and completion quick)

    serve_auditor(read_flags(config, ledger=ledger))


def run(
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Send no example reviews.")] = False,  # noqa: FBT002 (typer's flags)
    bundle: BundleFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Run everything in one process on this machine, with a folder of YAML for a cluster."""
    from cli.here import serve_here  # noqa: PLC0415 (keeps --help and completion quick)

    settings = read_flags(config, cluster=cluster, kubeconfig=kubeconfig, bundle=bundle)
    serve_here(settings, examples=not quiet)
