"""The command `sallyport support-bundle`."""

import datetime as dt
import time
from pathlib import Path
from typing import Annotated

import typer

from cli import exits
from cli.flags import ConfigFlag, KubeconfigFlag, read_flags
from cli.session import log_to_stderr, run_async

SUPPORT_BUNDLE = """**Examples**

    sallyport support-bundle --kubeconfig ~/.kube/config

    sallyport support-bundle --kubeconfig config.yaml --since 6h -o case.tar.gz

Writes what a maintainer needs into one file: the status, versions, the chart's
objects, Events and the last lines of logs of Sallyport's namespace, metrics of
each process, and what the doctor of egress says of the network. MANIFEST.json in
it lists all files, what could not be read and why, and what no bundle holds.

Secrets are never read. Values of environment variables are left out; in texts,
what looks like a secret is removed, and names of people become the pseudonyms of
logs. Look into it before you give it away. docs/operate/status.md has the rights
that it needs.

**Exit codes**: 0 all of it was written; 2 it was written, and some of it could
not be read, as standard error says; 64 wrong usage, or the file is there."""


def support_bundle(
    file: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to; else named after the time, here."
        ),
    ] = None,
    since: Annotated[
        str, typer.Option(help="Logs and Events not before: 15m, 2h, 3d ago, or a time.")
    ] = "2h",
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Write what a maintainer needs into one file, without secrets and names of people."""
    log_to_stderr()
    from cli.shared.decision_queries import read_since  # noqa: PLC0415 (keeps --help quick)
    from cli.support_bundle.run import make_bundle  # noqa: PLC0415
    from core.base.errors import SettingsError  # noqa: PLC0415
    from core.base.whole_files import write_whole  # noqa: PLC0415

    now_ms = int(time.time() * 1000)
    since_s = max(1.0, (now_ms - read_since(since, now_ms)) / 1000)
    now = dt.datetime.fromtimestamp(now_ms // 1000, dt.UTC)
    path = file or Path(f"sallyport-support-{now:%Y%m%dT%H%M%SZ}.tar.gz")
    if path.exists():
        raise SettingsError(f"--output {path}: is there already; name another file")
    made = run_async(make_bundle(read_flags(config, kubeconfig=kubeconfig), since_s, lambda: now))
    write_whole(path, made.content, mode=0o600)
    manifest = made.manifest
    typer.echo(f"{path}: {len(manifest.files)} files, {len(made.content):,} bytes")
    for each in manifest.left_out:
        typer.echo(f"not in it: {each.what}: {each.why}", err=True)
    raise typer.Exit(exits.NOT_JUDGED if manifest.left_out else exits.ADMITTED)
