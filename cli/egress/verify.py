"""`sallyport egress verify`: tries real connections from Pods, and compares with the intents."""

import asyncio
import sys
from collections.abc import Sequence
from typing import Final

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

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
from core.base.errors import ClusterError, SettingsError
from core.base.safe_text import safe_line
from egress.analysis.cluster_egress import ClusterEgress, unheld_reason
from egress.analysis.overlay import FileIntents
from egress.analysis.probe_program import NO_TOOL, probe_command, read_probe_output
from egress.analysis.verification import (
    ProbeResult,
    judge_probe,
    probe_works,
    probes_of,
    representatives,
    untried_openings,
)
from kube.client.pod_exec import PodExec
from kube.egress.pods import EgressPod

FORMAT: Final = 1

_AT_ONCE: Final = 8
_APISERVER: Final = "default"
"""The namespace of kube-apiserver's Service."""
_COLOURS: Final = {"agrees": "green", "leaks": "red", "cut off": "red", "unknown": "magenta"}


class EgressVerification(msgspec.Struct, frozen=True, rename="camel"):
    """What `-o json` prints."""

    format: int
    tried: list[ProbeResult]
    untried: list[str]
    """Openings that cannot be tried, by Pod."""
    failed: list[str]
    """Pods from which nothing could be tried, each with the reason."""


async def verify(
    settings: Settings,
    pod: str | None,
    namespace: str | None,
    others: Sequence[str],
    timeout_s: int,
) -> EgressVerification:
    """Try connections from a Pod, or from one Pod of each service account of a namespace.

    Raises:
        SettingsError: no cluster is named, there is no such Pod, or it is not enrolled.
        ClusterError, AccessReviewError: the cluster does not answer.
    """
    if settings.kubeconfig is None:
        raise SettingsError("it connects from Pods that run: give --kubeconfig FILE")
    if pod is None and namespace is None:
        raise SettingsError("name a POD, or a namespace with -n")
    where = split_pod_name(namespace, pod)[0] if pod is not None else str(namespace)
    site = site_of(settings)
    within = {where, _APISERVER, *dns_namespaces(site)}
    async with open_source(settings) as source:
        seen = await look(settings, source, within, FileIntents())
        world = await make_world(seen, site, source.ask)
    chosen = _chosen(world, where, split_pod_name(namespace, pod)[1] if pod is not None else None)
    turns = asyncio.Semaphore(_AT_ONCE)
    async with PodExec(settings.kubeconfig) as exec_:
        found = await asyncio.gather(
            *(_verify(each, world, exec_, others, timeout_s, turns) for each in chosen)
        )
    return EgressVerification(
        FORMAT,
        [one for tried, _ in found for one in tried],
        [f"{each.key}: {why}" for each in chosen for why in untried_openings(each, world)],
        [why for _, why in found if why],
    )


def _chosen(world: ClusterEgress, namespace: str, name: str | None) -> list[EgressPod]:
    if not world.enrolled(namespace):
        raise SettingsError(f"namespace {namespace} is not enrolled: its Pods connect everywhere")
    if name is not None:
        pod = pod_of(world, namespace, name)
        if pod.host_network:
            raise SettingsError(f"{pod.key} {unheld_reason(pod)}")
        return [pod]
    here = (each for each in world.snapshot.pods if each.namespace == namespace)
    found = representatives(each for each in here if not each.host_network)
    if not found:
        raise SettingsError(f"namespace {namespace}: no Pod runs that a policy holds")
    return found


async def _verify(  # noqa: PLR0913, PLR0917 (what a try is made of)
    pod: EgressPod,
    world: ClusterEgress,
    exec_: PodExec,
    others: Sequence[str],
    timeout_s: int,
    turns: asyncio.Semaphore,
) -> tuple[list[ProbeResult], str]:
    """Try all from one Pod; give what was found, or why nothing could be."""
    probes = probes_of(pod, world, others)
    async with turns:
        sys.stderr.write(f"{pod.key}: {len(probes)} connections\n")
        try:
            ran = await exec_.run(
                (pod.namespace, pod.name),
                pod.containers[0] if pod.containers else "",
                probe_command(probes, timeout_s),
                4 * timeout_s + 10.0,
            )
        except ClusterError as error:
            return [], str(error)
    if ran.code == NO_TOOL:
        return [], f"{pod.key}: its image has neither python3, bash with timeout, nor nc"
    tool, found = read_probe_output(ran.out, len(probes))
    if not tool:
        said = " ".join(ran.err.split())[:200]
        return [], f"{pod.key}: the probe ended with {ran.code}: {said or 'it said nothing'}"
    if not probe_works(probes, found):
        return [], (
            f"{pod.key}: nothing answered, not even what must be open ({tool}): the probe, the "
            "cluster's DNS or all of the network may be broken, so nothing is proved"
        )
    return [judge_probe(pod, probe, one) for probe, one in zip(probes, found, strict=True)], ""


def exit_code(verified: EgressVerification) -> int:
    """Return the exit code: whether something differs, or else could not be tried."""
    verdicts = {each.verdict for each in verified.tried}
    if verdicts & {"leaks", "cut off"}:
        return exits.REFUSED
    return exits.NOT_JUDGED if verified.failed or "unknown" in verdicts else exits.ADMITTED


def print_verified(verified: EgressVerification, console: Console) -> None:
    """Print a table of what was tried, then what was not."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("POD", "TO", "WHAT", "EXPECTED", "FOUND", "VERDICT"):
        table.add_column(column, overflow="fold")
    for each in verified.tried:
        verdict = f"{each.verdict}: {each.why}" if each.why else each.verdict
        cells = (each.pod, each.to, each.what, each.expected, each.found)
        plain = (Text(safe_line(cell)) for cell in cells)
        table.add_row(*plain, Text(safe_line(verdict), style=_COLOURS[each.verdict]))
    if verified.tried:
        console.print(table)
    for why in verified.untried:
        console.print(Text(safe_line(f"not tried: {why}"), style="yellow"))
    for why in verified.failed:
        console.print(Text(safe_line(f"could not try: {why}"), style="magenta"))
    differ = sum(each.verdict in {"leaks", "cut off"} for each in verified.tried)
    count = len(verified.tried)
    console.print(Text(f"{count} connections tried, {differ} differ from the intents."))
