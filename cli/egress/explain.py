"""`sallyport egress explain`: whether one connection is open, and why."""

import ipaddress
from collections.abc import Iterator
from typing import Final

import msgspec
from rich.console import Console

from app.settings.root import Settings
from cli import exits
from cli.egress.inputs import (
    dns_namespaces,
    look,
    make_world,
    open_source,
    pod_of,
    site_of,
    split_pod_name,
)
from cli.egress.lines import print_line
from core.base.errors import SettingsError
from egress.analysis.connection import parse_target
from egress.analysis.explanation import CitedIntent, Explanation, explain
from egress.analysis.overlay import FileIntents

_VERDICTS: Final = {
    "open": ("OPEN", "green"),
    "partly": ("PARTLY OPEN", "yellow"),
    "closed": ("CLOSED", "red"),
    "unlimited": ("OPEN, AND NOT BY AN INTENT", "yellow"),
}


async def explain_connection(
    settings: Settings, pod: tuple[str | None, str], to: str
) -> tuple[Explanation, bool]:
    """Answer for a Pod (namespace, if given, and name) and `HOST:PORT`.

    Also whether something was broken and left out, which standard error has told.

    Raises:
        SettingsError: no cluster is named, or there is no such Pod or destination.
        ClusterError, AccessReviewError: the cluster does not answer.
    """
    if settings.cluster is None and settings.kubeconfig is None:
        raise SettingsError("say in which cluster: give --cluster DIR or --kubeconfig FILE")
    namespace, name = split_pod_name(*pod)
    site = site_of(settings)
    within = None if _is_address(to) else {namespace, *_aimed_at(to), *dns_namespaces(site)}
    async with open_source(settings) as source:
        seen = await look(settings, source, within, FileIntents())
        world = await make_world(seen, site, source.ask)
    answer = explain(pod_of(world, namespace, name), parse_target(to, world), world)
    return answer, bool(seen.broken)


def _is_address(to: str) -> bool:
    """Return whether a destination is an address: whose it is, any namespace may say."""
    try:
        ipaddress.ip_address(to.rpartition(":")[0].strip("[]"))
    except ValueError:
        return False
    return True


def _aimed_at(to: str) -> list[str]:
    """Return the namespace that a destination may be in, by how it is written."""
    host = to.rpartition(":")[0]
    kind, *rest = host.split("/")
    if rest:
        return rest[:1] if kind in {"pod", "service"} else []
    return host.split(".")[1:2]


def exit_code(found: Explanation, *, left_out: bool) -> int:
    """Return the exit code: whether something was left out, or the connection is open."""
    if left_out:
        return exits.NOT_JUDGED
    return exits.ADMITTED if found.verdict in {"open", "unlimited"} else exits.REFUSED


def print_explanation(answer: Explanation, console: Console) -> None:
    """Print the verdict, which intents say so, and what is missing."""
    word, colour = _VERDICTS[answer.verdict]
    head = f"{word}: {answer.pod} ({answer.service_account}) → {answer.to} {answer.port}"
    print_line(console, head, colour)
    print_line(console, f"  {answer.why}")
    for line in _details(answer):
        print_line(console, line)


def _details(answer: Explanation) -> Iterator[str]:
    for cited in answer.by:
        yield from _cited(cited)
    if answer.open_addresses:
        yield f"  open:      {', '.join(answer.open_addresses)}"
    if answer.closed_addresses and answer.verdict != "unlimited":
        yield f"  closed:    {', '.join(answer.closed_addresses)}"
    for near in answer.near:
        yield f"  near:      {near.what}: {near.why}"
    if answer.add:
        yield f"  to add:    - {msgspec.json.encode(answer.add).decode()}"
    for warning in answer.warnings:
        yield f"  careful:   {warning}"


def _cited(cited: CitedIntent) -> Iterator[str]:
    yield f"  allowlist: {cited.allowlist}, {cited.path}"
    yield f"             owner {cited.owner}, until {cited.expires_at}: {cited.reason}"
