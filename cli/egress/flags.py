"""Flags of `sallyport egress`: which engine, which forms of flows and of output."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Optional

import typer


class EngineName(StrEnum):
    """What `--engine` takes."""

    NETWORKPOLICY = "networkpolicy"
    CILIUM = "cilium"
    CILIUM_AKS = "cilium-aks"
    CILIUM_AKS_BASIC = "cilium-aks-basic"


class FlowFormat(StrEnum):
    """What `--format` takes."""

    AUTO = "auto"
    HUBBLE = "hubble"
    AZURE = "azure"
    ACNS = "acns"
    CALICO = "calico"
    CSV = "csv"


class ObjectFormat(StrEnum):
    """What `-o` takes of commands that write objects."""

    YAML = "yaml"
    JSON = "json"


class GraphFormat(StrEnum):
    """What `-o` takes of `graph`."""

    SVG = "svg"
    JSON = "json"


class ConnlistFormat(StrEnum):
    """What `-o` of `connlist` takes."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MD = "md"
    DOT = "dot"


class DiffFormat(StrEnum):
    """What `-o` of `diff` takes."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MD = "md"


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
