"""Makes docs/detections: a page for each detection, and the index, from their values.

python -m docs.generate.detections [--check]

With `--check` nothing is written, and the exit code is 1 if a page is stale, missing or of no
detection.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from audit.access.cases import phase_of
from audit.access.detections.catalogue import DETECTIONS
from audit.access.model.coverage import Same, Span, bytes_written
from audit.access.model.detection import Detection
from audit.siem.catalogue import RULES
from audit.siem.sigma import can_say

FOLDER: Final = Path(__file__).parents[1] / "detections"

_MADE: Final = (
    "<!-- Made by docs/generate/detections.py from audit/access/detections; edit those. -->"
)

_INDEX: Final = """# Detections

What the auditor looks for in the logs of model-weight storage. Each detection sees accesses, activities and gaps one by one, in the order of their times, and remembers a bounded amount; the same events give the same findings, with the same ids. A finding is said once for one thing (a principal, a store and a day, mostly), and again only where it turns graver. Findings that belong to one story are read as [one case](#cases).

| | Detection | Id | Severity, at most | Phase | Techniques |
|---|---|---|---|---|---|
"""

_AFTER: Final = """
## What holds for all
- **Logs are best effort.** Azure delivers records late, twice or never, and logs most failed anonymous requests not at all. Every report begins with what is known to be missing. No detection shows that nothing happened.
- **Order.** Events wait for a few minutes so that they are seen in the order of their times. What comes later is judged by what is left, and its finding says so (`late`).
- **Baselines** are of a principal and store, use medians, and say when they have seen too little: reports list what is young, with the days that are missing ([ADR 40](../adr/0040-baselines-are-robust.md)).
- **Numbers** can be set (`weights.tuning`, by the name in the page's table). One that there is not is refused at start.
- **Expected principals**: `weights.expected` names, by detection, whose findings are not raised (`oid:…`, `client:…`): backup services, the automation that rotates keys. They are counted, and reports show the count.
- **A detection that fails** does not stop the others nor the ingest: a finding of its own says each day that it does not work.

## Cases
Findings are joined into a case where, within three days of each other, they are about the same principal and store, or share a Pod, a human or an address that no more than five principals of findings share; or where one is about what was done to an account (keys listed, a role assigned) and the other about what comes of it there (a read by key, a new caller). A case has the severity of its gravest finding, and one more where it spans three phases. It is computed when it is read: the ledger keeps findings alone.
"""

_RULES: Final = {each.detection: each for each in RULES}

_SPANS: Final = {
    Span.FIRST_DAY: "the day (UTC) of its first event",
    Span.DAYS: "the days (UTC) from its first event to the one that completed it",
    Span.ONWARDS: "the day (UTC) of its first event and all after it",
}


def main() -> int:
    """Write the pages, or check them. Gives the exit code."""
    pages = dict(_pages())
    there = {path.name for path in FOLDER.glob("*.md")}
    stale = sorted(there - pages.keys())
    stale += [name for name, page in pages.items() if not _is_there(name, page)]
    if "--check" in sys.argv:
        for name in stale:
            print(
                f"detections/{name} is stale; run: python -m docs.generate.detections",
                file=sys.stderr,
            )
        return int(bool(stale))
    FOLDER.mkdir(exist_ok=True)
    for name in there - pages.keys():
        (FOLDER / name).unlink()
    for name, page in pages.items():
        (FOLDER / name).write_text(page)
    return 0


def _is_there(name: str, page: str) -> bool:
    path = FOLDER / name
    return path.is_file() and path.read_text() == page


def _pages() -> Iterator[tuple[str, str]]:
    rows = "".join(
        f"| {each.number} | [{each.title}]({each.id}.md) | `{each.id}` | {each.severity.value} "
        f"| {phase_of(each.id)} | {', '.join(map(_link, each.techniques))} |\n"
        for each in DETECTIONS
    )
    yield "index.md", f"{_MADE}\n\n{_INDEX}{rows}{_AFTER}"
    for each in DETECTIONS:
        yield f"{each.id}.md", _page(each)


def _page(each: Detection) -> str:
    shown = [act.value for act in sorted(each.acts, key=lambda act: act.value)]
    shown += sorted(f"{act.value} (refused)" for act in each.refused)
    shown += [topic.value for topic in sorted(each.topics, key=lambda topic: topic.value)]
    shown += ["gaps"] if each.gaps else []
    lines = [
        _MADE,
        "",
        f"# {each.number}. {each.title}",
        "",
        f"Detection `{each.id}`, severity at most {each.severity.value}, phase *{phase_of(each.id)}*, "
        f"techniques {', '.join(map(_link, each.techniques))}.",
        "",
        each.about,
        "",
        "## Needs",
        "",
        *(f"- {one}" for one in each.needs),
        "",
        f"It is shown: {', '.join(f'`{one}`' for one in shown)}"
        + ("; also of what no WeightStore holds." if each.elsewhere else "."),
        "",
        *_listed("Fires on", each.fires),
        *_listed("Stays quiet on", each.quiet),
        *_listed("Does not see", each.blind),
        "## What to do",
        "",
        each.remedy,
        "",
        *_steps(each),
        *(("## What can be recovered", "", each.recoverable, "") if each.recoverable else ()),
        "## What a finding counts",
        "",
        *_counted(each),
        "",
        "## What it remembers",
        "",
        f"At most {each.bound}. What was used longest ago is forgotten first.",
        *(_tuning(each) if each.tuning else ()),
        *_in_a_siem(each),
    ]
    return "\n".join(lines) + "\n"


def _listed(title: str, lines: tuple[str, ...]) -> Iterator[str]:
    if lines:
        yield from (f"## {title}", "", *(f"- {one}" for one in lines), "")


def _counted(each: Detection) -> Iterator[str]:
    """Say whose figures a report gives for a finding."""
    if not each.covers:
        yield (
            "A report gives its figures as they were when it was found: it rests on entries of "
            "other logs, or on few accesses, whose ids stand beside it."
        )
        return
    yield "A report counts, among the accesses of its period, those that the detection looks at:"
    yield ""
    for aspect, coverage in sorted(each.covers.items()):
        same = ", ".join(one.value for one in Same if one in coverage.same)
        kind = f"`{aspect}`: " if aspect else "of earlier releases: " * (len(each.covers) > 1)
        amount = "sent to" if coverage.bytes_of is bytes_written else "read from"
        yield f"- {kind}same {same}; {_SPANS[coverage.span]}; bytes that were {amount} storage."


def _steps(each: Detection) -> Iterator[str]:
    if each.steps:
        yield from ("| Within | Do |", "|---|---|")
        for one in each.steps:
            yield f"| {one.minutes} minutes | {one.action} |"
        yield ""


def _tuning(each: Detection) -> Iterator[str]:
    yield from ("", "## Numbers", "", "| Setting | Value | Why |", "|---|---|---|")
    for one in each.tuning:
        yield f"| `{one.name}` | {one.value:g} {one.unit} | {one.reason} |"


def _in_a_siem(each: Detection) -> Iterator[str]:
    """Say which queries there are, and what they do not see."""
    rule = _RULES[each.id]
    yield from ("", "## In a SIEM", "")
    if not rule.queries:
        yield f"There is no query. {rule.leaves_out}"
        return
    file = f"examples/siem/{each.id}"
    sigma = f", `{file}.yml` as Sigma rules" if any(map(can_say, rule.queries)) else ""
    yield (
        f"`{file}.kql` for Microsoft Sentinel and Log Analytics{sigma}, made from one definition "
        "(`audit/siem/catalogue.py`)."
    )
    if rule.leaves_out:
        yield ""
        yield f"The detection sees what they do not: {rule.leaves_out}"


def _link(technique: str) -> str:
    """Link a technique of MITRE's."""
    if technique.startswith("AML."):
        return f"[{technique}](https://atlas.mitre.org/techniques/{technique})"
    return f"[{technique}](https://attack.mitre.org/techniques/{technique.replace('.', '/')}/)"


if __name__ == "__main__":
    sys.exit(main())
