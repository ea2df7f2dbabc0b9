"""`sallyport preflight cluster` for people: findings as comments over values of the chart."""

from collections.abc import Iterator
from typing import Final

import yaml
from rich.console import Console
from rich.text import Text

from cli.preflight.cluster.model import ClusterPreflight
from core.base.safe_text import safe_line

_COLOURS: Final = {"blocks": "red", "warning": "yellow", "note": "cyan"}


def print_cluster(found: ClusterPreflight, console: Console) -> None:
    """Print what was found, then the values: all of it is a values file."""
    console.print(Text(safe_line(f"# {_head(found)}"), style="bold"))
    for each in found.findings:
        console.print(Text("#"))
        head = Text(f"# {each.severity:8}", style=_COLOURS[each.severity])
        console.print(head.append(safe_line(f"{each.area}: {each.what}"), style="default"))
        console.print(Text(safe_line(f"#         fix: {each.fix}")))
        console.print(Text(safe_line(f"#         see: {each.see}")))
    for gap in found.unknown:
        console.print(Text("#"))
        head = Text("# unknown ", style="magenta")
        console.print(head.append(safe_line(gap), style="default"))
    console.print(Text("#"))
    for line in values_file(found).splitlines():
        console.print(Text(safe_line(line)))


def values_file(found: ClusterPreflight) -> str:
    """Return the values as a YAML file."""
    return yaml.safe_dump(found.values, sort_keys=False)


def commented(found: ClusterPreflight) -> str:
    """Return the values file with what was found over it."""
    return "".join(f"{safe_line(line)}\n" for line in _comments(found)) + values_file(found)


def _comments(found: ClusterPreflight) -> Iterator[str]:
    yield f"# {_head(found)}"
    for each in found.findings:
        yield f"# {each.severity}: {each.area}: {each.what}. Fix: {each.fix} ({each.see})"
    for gap in found.unknown:
        yield f"# unknown: {gap}"


def _head(found: ClusterPreflight) -> str:
    blocks = sum(each.severity == "blocks" for each in found.findings)
    warnings = sum(each.severity == "warning" for each in found.findings)
    network = found.network or "no engine of network policies"
    return (
        f"Kubernetes {found.kubernetes}, {network}. Findings that block: {blocks}; warnings: "
        f"{warnings}; not known: {len(found.unknown)}"
    )
