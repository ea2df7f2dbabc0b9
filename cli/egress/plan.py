"""`sallyport egress plan`: what applying intents opens and closes."""

from collections.abc import Sequence
from typing import Final

from app.settings.root import Settings
from cli.egress.inputs import look, make_world, open_source, read_intents, site_of
from egress.analysis.overlay import changed_namespaces, overlay_intents, remove_intents
from egress.analysis.plan import AllowlistPlan, plan

DIFFERENT: Final = 1


async def make_plan(settings: Settings, files: Sequence[str], *, delete: bool) -> AllowlistPlan:
    """Compare a cluster as it is with how it is once the files are applied, or deleted.

    Raises:
        SettingsError: what is named cannot be read, or holds no intent.
        InvalidObjectError: an intent is broken.
        ClusterError, AccessReviewError: the cluster does not answer.
    """
    intents, site = read_intents(files), site_of(settings)
    async with open_source(settings) as source:
        seen = await look(settings, source, intents.within, intents)
        then = remove_intents(seen, intents) if delete else overlay_intents(seen, intents)
        before = await make_world(seen, site, source.ask, intents.allowlists)
    after = before.with_snapshot(then, before.rights)
    return plan(before, after, changed_namespaces(seen, then))


def exit_code(found: AllowlistPlan) -> int:
    """Return the exit code: whether a connection opens or closes."""
    return DIFFERENT if found.changes else 0
