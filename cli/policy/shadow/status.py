"""`sallyport policy shadow status`: what a candidate that rides along would change so far."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from prometheus_client import Metric
from rich.console import Console
from rich.table import Table
from rich.text import Text

from admission.replay.outcomes import Effect
from cli import exits
from cli.policy.shadow.gate_metrics import read_metrics
from core.base.safe_text import safe_line

FORMAT: Final = 1
"""Version of the JSON (docs/reference/policy-shadow.schema.json)."""

LEAST_COMPARED: Final = 100
LEAST_SHARE: Final = 0.1
"""Of reviews that policies are asked about, so many must have been compared to say: promote it."""

_PREFIX: Final = "sallyport_shadow"


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Frozen, camelCase."""


class GateStatus(_Part, frozen=True):
    """One gate."""

    url: str
    revision: str = ""
    """Of the candidate there; empty where none is loaded."""
    in_force: str = ""
    """Revision of the bundle that it was compared with; empty before the first review."""
    problem: str = ""


class ShadowChange(_Part, frozen=True):
    """How many reviews the candidate would end otherwise in one way."""

    effect: Effect
    rule: str
    """Empty: by any rule."""
    reviews: int


class ShadowStatus(_Part, frozen=True):
    """What gates have counted since each began, or had another bundle in force."""

    format: int
    gates: list[GateStatus]
    compared: int
    beside: int
    """About what no policy is asked."""
    dropped: int
    """Not looked at: the budget was used up."""
    unknown: dict[str, int]
    """Of which nobody can say what the candidate would do, by reason."""
    unread: dict[str, int]
    """Of which one rule could not be asked, by rule."""
    changes: list[ShadowChange]
    cpu_seconds: float
    verdict: str

    def of(self, effect: Effect) -> int:
        """Return the number of reviews that have an effect."""
        return sum(e.reviews for e in self.changes if e.effect is effect and not e.rule)


def read_shadow(urls: Sequence[str]) -> ShadowStatus:
    """Ask gates for their metrics, and add them up.

    Raises:
        SettingsError: an address is no http one.
    """
    gates: list[GateStatus] = []
    sums: Counter[tuple[str, ...]] = Counter()
    for url in urls:
        families, problem = read_metrics(url)
        found = [family for family in families if family.name.startswith(_PREFIX)]
        if not problem and not found:
            problem = "no candidate rides along there: set shadow.bundle"
        gates.append(_gate(url, found, problem))
        for family in found:
            for each in family.samples:
                labels = [each.labels[name] for name in sorted(each.labels)]
                sums[each.name.removeprefix(_PREFIX), *labels] += each.value  # type: ignore[assignment]
    unsaid = ShadowStatus(
        format=FORMAT,
        gates=gates,
        compared=int(sums["_reviews_total", "compared"]),
        beside=int(sums["_reviews_total", "beside"]),
        dropped=int(sums["_reviews_total", "dropped"]),
        unknown=_by(sums, "_unknown_total"),
        unread=_by(sums, "_unread_total"),
        changes=[
            ShadowChange(effect=effect, rule=key[2], reviews=int(count))
            for effect in Effect
            for key, count in sorted(sums.items())
            if key[0] == "_changes_total" and key[1] == effect.value
        ],
        cpu_seconds=round(float(sums["_cpu_seconds_total",]), 3),
        verdict="",
    )
    return msgspec.structs.replace(unsaid, verdict=_verdict(unsaid))


def _by(sums: Counter[tuple[str, ...]], name: str) -> dict[str, int]:
    return {key[1]: int(count) for key, count in sorted(sums.items()) if key[0] == name}


def _gate(url: str, families: Iterable[Metric], problem: str) -> GateStatus:
    revision = in_force = ""
    for family in families:
        for each in family.samples:
            if each.name == f"{_PREFIX}_info":
                revision = each.labels.get("revision", "")
                in_force = each.labels.get("in_force", "")
            elif each.name == f"{_PREFIX}_refused" and each.value:
                problem = "its candidate is not asked: its log says why"
    if not (revision or problem):
        problem = "its candidate is being loaded"
    return GateStatus(url=url, revision=revision, in_force=in_force, problem=problem)


def _verdict(found: ShadowStatus) -> str:
    seen = f"{found.compared:,} reviews compared, {found.dropped:,} not looked at"
    refused, failed = found.of(Effect.NEWLY_REFUSED), found.of(Effect.FAILED)
    if failed:
        return f"Do not promote it: its policies fail on {failed:,} ({seen})."
    if refused:
        return f"Do not promote it yet: {refused:,} would newly be refused ({seen})."
    if unsaid := _unsaid(found):
        return f"Nothing can be said yet: {unsaid}."
    if left := sum(found.unknown.values()) + sum(found.unread.values()):
        return (
            f"Nothing would newly be refused of what was seen ({seen}), but {left:,} answers are "
            "missing: see above before you promote it."
        )
    if too_little(found):
        return (
            f"Too little was seen to promote it: nothing would newly be refused ({seen}, "
            f"{_share(found):.1%} of them compared), but {LEAST_COMPARED} reviews "
            f"and {LEAST_SHARE:.0%} are to be compared: wait, or give shadow.budget more."
        )
    return f"Promote it: nothing would newly be refused ({seen})."


def too_little(found: ShadowStatus) -> bool:
    """Return whether too few reviews were compared to promote a candidate."""
    return found.compared < LEAST_COMPARED or _share(found) < LEAST_SHARE


def _share(found: ShadowStatus) -> float:
    return found.compared / max(found.compared + found.dropped, 1)


def _unsaid(found: ShadowStatus) -> str:
    """Say why nothing can be said; empty where something can."""
    if problems := sum(bool(each.problem) for each in found.gates):
        return f"of {len(found.gates)} gates {problems} say nothing"
    if len({each.revision for each in found.gates}) > 1:
        return "gates have different candidates"
    if len({each.in_force for each in found.gates if each.in_force}) > 1:
        return "gates have different bundles in force"
    return "" if found.compared else "no review was compared"


def exit_code(found: ShadowStatus) -> int:
    """Return the exit code: what is not known weighs more than what is newly refused."""
    if _unsaid(found) or found.unknown or found.unread or found.of(Effect.FAILED):
        return exits.NOT_JUDGED
    if found.of(Effect.NEWLY_REFUSED):
        return exits.REFUSED
    return exits.NOT_JUDGED if too_little(found) else exits.ADMITTED


def print_shadow(found: ShadowStatus, console: Console) -> None:
    """Print a line for each gate, the changes as a table, and the verdict."""
    for gate in found.gates:
        beside = f" beside {gate.in_force}" if gate.in_force else ""
        said = gate.problem or f"candidate {gate.revision}{beside}"
        console.print(Text(safe_line(f"{gate.url}: {said}")), soft_wrap=True)
    if found.changes:
        table = Table("EFFECT", "RULE", "REVIEWS", box=None, pad_edge=False)
        for each in found.changes:
            rule = Text(safe_line(each.rule or "(any)"))
            table.add_row(Text(each.effect.value), rule, Text(f"{each.reviews:,}"))
        console.print()
        console.print(table)
    for word, left in (("not judged", found.unknown), ("without the rule", found.unread)):
        for reason, count in left.items():
            console.print(Text(safe_line(f"{count:,} {word}: {reason}")), soft_wrap=True)
    console.print()
    console.print(Text(found.verdict), soft_wrap=True)
