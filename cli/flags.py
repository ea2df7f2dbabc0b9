"""Flags that several commands share, and what they are read into."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from cli.output import Format

if TYPE_CHECKING:
    from app.settings.root import Settings


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
LedgerFlag = Annotated[
    str | None,
    typer.Option(help="The ledger's URL; one with a password belongs in SALLYPORT_LEDGER__URL."),
]
ClusterIdFlag = Annotated[str | None, typer.Option(help="Of the cluster with this id.")]
SinceFlag = Annotated[
    str, typer.Option(help="Not before: 15m, 2h, 3d ago, or a time (RFC 3339).", metavar="TIME")
]
UntilFlag = Annotated[
    str | None, typer.Option(help="Before this time, given likewise.", metavar="TIME")
]
GroupFlag = Annotated[
    Optional[list[str]], typer.Option(help="A group of that user's; may be repeated.")  # noqa: UP045 (typer)
]
NamespaceFlag = Annotated[str, typer.Option("--namespace", "-n", help="For what names none.")]
OutputFlag = Annotated[Format, typer.Option("--output", "-o", help="How to print.")]


def read_flags(config: Path | None, *, ledger: str | None = None, **flags: Any) -> "Settings":
    """Return the settings of flags, environment and file; `ledger` is a LedgerFlag.

    Raises:
        SettingsError: naming the setting that is wrong.
    """
    from app.settings.root import read_settings  # noqa: PLC0415 (keeps --help and completion quick)

    url = None if ledger is None else {"url": ledger}
    return read_settings(config, {**flags, "ledger": url})
