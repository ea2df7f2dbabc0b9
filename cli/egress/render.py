"""`sallyport egress render`: the policies that intents come to."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import yaml

from app.settings.root import Settings
from cli import exits
from cli.egress.inputs import look, make_world, open_source, read_intents, site_of
from cli.egress.lines import warn_problems
from cli.output import print_json
from core.base.errors import SettingsError
from egress.analysis.overlay import overlay_intents
from egress.model.openings import Problem
from egress.render.generated_objects import Json


@dataclass(frozen=True)
class RenderedPolicies:
    """What was rendered."""

    objects: list[Json]
    problems: list[tuple[str, Problem]]
    """With their namespaces."""
    left_out: bool
    """Whether something was broken, which standard error has told."""


async def render(
    settings: Settings, files: Sequence[str], namespace: str | None
) -> RenderedPolicies:
    """Return the policies of all enrolled namespaces, or of one, with the files applied.

    Raises:
        SettingsError: there is nothing to render, or what is named cannot be read.
        ClusterError, AccessReviewError: the cluster does not answer.
    """
    if not files and settings.cluster is None and settings.kubeconfig is None:
        raise SettingsError("name FILES, or a cluster: --cluster DIR or --kubeconfig FILE")
    intents, site = read_intents(files), site_of(settings)
    within = frozenset({namespace}) if namespace is not None else None
    async with open_source(settings) as source:
        seen = overlay_intents(await look(settings, source, within, intents), intents)
        world = await make_world(seen, site, source.ask)
    places = {each.meta.namespace for each in seen.allowlists.values()} | seen.namespaces.keys()
    chosen = sorted(places if namespace is None else {namespace})
    enrolled = [each for each in chosen if world.enrolled(each)]
    if namespace is not None and not enrolled:
        sys.stderr.write(f"sallyport: namespace {namespace} is not enrolled: it has no policies\n")
    return RenderedPolicies(
        [item for each in enrolled for item in world.rendered(each).objects],
        [(each, problem) for each in enrolled for problem in world.problems(each)],
        bool(seen.broken),
    )


def write(done: RenderedPolicies, *, as_json: bool) -> None:
    """Print the objects, and on standard error what stays closed."""
    if as_json:
        print_json({"apiVersion": "v1", "kind": "List", "items": done.objects})
    elif done.objects:
        yaml.dump_all(done.objects, sys.stdout, Dumper=yaml.CSafeDumper, sort_keys=False)
    for namespace, problem in done.problems:
        warn_problems(namespace, [problem])


def exit_code(done: RenderedPolicies) -> int:
    """Return the exit code: whether something is left out, or stays closed that an intent says."""
    if done.left_out:
        return exits.NOT_JUDGED
    closed = any(problem.closes for _, problem in done.problems)
    return exits.REFUSED if closed else exits.ADMITTED
