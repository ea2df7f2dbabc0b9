"""`sallyport profile diff`: what each of two profiles covers that the other does not."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console
from rich.text import Text

from app.settings.root import Settings
from app.wiring import open_cluster
from cli.shared.cluster_answers import require_answers
from cli.shared.judge import CLUSTER_WAIT_S
from cli.shared.profile_files import read_profile
from core.base.errors import SettingsError
from core.base.safe_text import safe_line
from core.profiles.container_profiles import ContainerProfile, ProfileSet
from core.profiles.privileges import PatternSet, find_uncovered
from kube.manifests.reader import SUFFIXES
from policies import SHIPPED_PROFILES

DIFFERENT: Final = 1


class Difference(msgspec.Struct, frozen=True, rename="camel"):
    """What `-o json` prints: patterns of which something is covered by one profile alone."""

    a: str
    b: str
    only_a: list[str]
    only_b: list[str]

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        return DIFFERENT if self.only_a or self.only_b else 0


async def diff_profiles(settings: Settings, a: str, b: str) -> Difference:
    """Compare two profiles, each a name or a file.

    Raises:
        SettingsError: there is no such profile.
        InvalidObjectError: a file's is broken.
        CannotJudgeError: the cluster does not answer.
    """
    if settings.cluster is None and settings.kubeconfig is None:
        settings = settings.model_copy(update={"cluster": SHIPPED_PROFILES})
    if settings.kubeconfig is not None:
        await require_answers(settings.kubeconfig)
    async with open_cluster(settings, wait_s=CLUSTER_WAIT_S) as cluster:
        profiles = cluster.profiles()
    return difference(a, _patterns(a, profiles), b, _patterns(b, profiles))


def difference(a: str, of_a: PatternSet, b: str, of_b: PatternSet) -> Difference:
    """Return the difference of what two sets of patterns cover. Pure."""
    return Difference(a, b, find_uncovered(of_a, of_b), find_uncovered(of_b, of_a))


def _patterns(named: str, profiles: ProfileSet) -> PatternSet:
    path = Path(named)
    if "/" not in named and path.suffix.lower() not in SUFFIXES:
        if profile := profiles.by_name.get(named):
            return profile.patterns
        if not path.is_file():
            known = ", ".join(profiles.by_name)
            raise SettingsError(f"{named}: no such profile and no such file; there are: {known}")
    return PatternSet(_of_file(read_profile(path), profiles))


def _of_file(profile: ContainerProfile, profiles: ProfileSet) -> Sequence[str]:
    """Return a file's patterns: its own, those of all relaxations, and of what it includes here."""
    spec = profile.spec
    patterns = [*spec.privileges]
    for relaxation in spec.relaxations:
        patterns += relaxation.privileges
    for name in spec.includes:
        if included := profiles.by_name.get(name):
            patterns += included.patterns
        else:
            sys.stderr.write(f"{profile.name} includes {name}, which is not there: left out\n")
    return patterns


def print_difference(found: Difference, console: Console) -> None:
    """Print both sides, for people."""
    a, b = safe_line(found.a), safe_line(found.b)
    if not found.exit_code:
        console.print(Text(f"{a} and {b} cover the same."))
        return
    for one, other, patterns in ((a, b, found.only_a), (b, a, found.only_b)):
        if not patterns:
            console.print(Text(f"{other} covers all that {one} covers."))
            continue
        console.print(Text(f"{one} covers, and {other} does not, or not wholly:", style="bold"))
        for pattern in patterns:
            console.print(Text(f"  {pattern}"))
