"""`sallyport egress graph`: a picture of who may reach what."""

import sys
from pathlib import Path

from app.settings.root import Settings
from cli import exits
from cli.egress.inputs import look, make_world, open_source, site_of
from core.base.errors import SettingsError
from egress.analysis.graph import EgressGraph, build_graph
from egress.analysis.graph_svg import render_svg
from egress.analysis.overlay import FileIntents


async def make_picture(settings: Settings, namespace: str | None) -> tuple[EgressGraph, bool]:
    """Return the picture of a cluster, or of one namespace of it.

    Also whether something was broken and left out, which standard error has told.

    Raises:
        SettingsError: no cluster is named, or nothing is enrolled there.
        ClusterError, AccessReviewError: the cluster does not answer.
    """
    if settings.cluster is None and settings.kubeconfig is None:
        raise SettingsError("say which cluster: give --cluster DIR or --kubeconfig FILE")
    within = None if namespace is None else frozenset({namespace})
    async with open_source(settings) as source:
        seen = await look(settings, source, within, FileIntents())
        world = await make_world(seen, site_of(settings), source.ask)
    wanted = {namespace} if namespace is not None else seen.namespaces.keys()
    picture = build_graph(world, wanted)
    if not picture.nodes:
        what = f"namespace {namespace}" if namespace is not None else "no namespace"
        raise SettingsError(f"{what} is not enrolled, or has neither Pods nor intents: no picture")
    return picture, bool(seen.broken)


def exit_code(*, left_out: bool) -> int:
    """Return the exit code: whether something was left out."""
    return exits.NOT_JUDGED if left_out else exits.ADMITTED


def write_svg(picture: EgressGraph, out: Path) -> None:
    """Write the picture as SVG.

    Raises:
        SettingsError: the file cannot be written.
    """
    try:
        out.write_text(render_svg(picture), encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"--out {out}: {error.strerror}") from error
    count = len(picture.edges)
    sys.stderr.write(f"{out}: {len(picture.nodes)} nodes and {count} edges\n")
