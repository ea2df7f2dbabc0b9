"""Which mode holds in how many namespaces."""

import asyncio
from collections import Counter

from app.settings.root import Settings
from cli.shared.cluster_status.model import AreaFindings, ModesStatus
from cli.shared.cluster_status.questions import StatusQuestions
from cli.shared.modes import read_modes
from core.decision.namespaces import Mode
from kube.resources.namespaces import parse_namespace
from kube.resources.paths import NAMESPACES_PATH


async def read_namespaces(
    questions: StatusQuestions,
    settings: Settings,
    left_out: "asyncio.Future[list[str] | None]",
    found: AreaFindings,
) -> ModesStatus | None:
    """Count namespaces by mode; None where it is not known which mode holds.

    Raises:
        ClusterError: kube-apiserver does not answer in time, or refuses.
    """
    modes, notes = await read_modes(questions, settings)
    for note in notes:
        found.gap(note.partition(": ")[2])
    raws = await questions.list(NAMESPACES_PATH, metadata_only=True)
    names = await left_out
    if names is None:
        found.gap("which namespaces the webhooks leave out could not be asked: see registrations")
    if notes or names is None:
        return None
    excluded = frozenset(names)
    judged = [each for each in map(parse_namespace, raws) if each.name not in excluded]
    counts = Counter(modes.of(each) for each in judged)
    enforce, warn, audit = (counts[each] for each in (Mode.ENFORCE, Mode.WARN, Mode.AUDIT))
    found.says.append(
        f"{enforce} namespaces enforce, {warn} warn, {audit} audit; those without a label: "
        f"{modes.elsewhere.value}"
    )
    if judged and not enforce:
        found.notes.append("no namespace enforces: nothing is refused (docs/operate/rollout.md)")
    return ModesStatus(enforce=enforce, warn=warn, audit=audit, left_out=sorted(excluded))
