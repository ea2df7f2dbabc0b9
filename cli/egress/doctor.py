"""`sallyport egress doctor`: which network a cluster has, and which settings it needs."""

from typing import Final

import yaml
from rich.console import Console
from rich.text import Text

from app.settings.egress import target_of
from app.settings.root import Settings
from cli import exits
from cli.egress.lines import print_line
from core.base.errors import SettingsError
from egress.analysis.network_doctor import NetworkReport, examine
from kube.client.objects import open_objects
from kube.egress.network_facts import (
    HOW_TO_LIST,
    NetworkFacts,
    has_facts,
    read_folder_facts,
    read_network_facts,
)

_WORDS: Final = {True: ("wrong", "red"), False: ("note", "yellow")}


async def look_at_network(settings: Settings, *, compares: bool = False) -> NetworkReport:
    """Look at a cluster or a folder; `compares` holds the settings of egress against it.

    Raises:
        SettingsError: no cluster is named, or the folder holds nothing by which a network is told.
        ClusterError: the cluster does not answer, or does not let something be listed.
    """
    facts = await _look(settings)
    if not compares:
        return examine(facts)
    try:
        return examine(facts, target_of(settings.egress))
    except SettingsError as error:
        return examine(facts, problem=str(error))


async def _look(settings: Settings) -> NetworkFacts:
    if settings.cluster is not None:
        facts = read_folder_facts(settings.cluster)
        if not has_facts(facts):
            raise SettingsError(
                f"--cluster {settings.cluster}: holds no Node and no DaemonSet, by which a network "
                f"is told; these write what is looked at: {'; '.join(HOW_TO_LIST)}"
            )
        return facts
    if settings.kubeconfig is None:
        raise SettingsError("say in which cluster: give --cluster DIR or --kubeconfig FILE")
    async with open_objects(settings.kubeconfig) as objects:
        return await read_network_facts(objects)


def exit_code(report: NetworkReport) -> int:
    """Return the exit code: whether something cannot work as it is set."""
    return exits.REFUSED if any(each.is_error for each in report.problems) else exits.ADMITTED


def print_report(report: NetworkReport, console: Console) -> None:
    """Print values of the chart that fit; what was found stands before them, as comments."""
    network = report.network or "no engine of network policies was seen"
    print_line(console, f"# {network}", "bold")
    for fact in report.facts:
        print_line(console, f"#   {fact.what}: {fact.found} ({fact.how})")
    for problem in sorted(report.problems, key=lambda each: not each.is_error):
        word, colour = _WORDS[problem.is_error]
        print_line(console, f"# {word}: {problem.setting}: {problem.why}", colour)
    console.print(Text(yaml.safe_dump({"egress": report.values}, sort_keys=False)), end="")
