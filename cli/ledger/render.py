"""What `sallyport ledger` prints for people."""

import datetime as dt
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from audit.ledger.log.heads import TreeHead
from audit.ledger.log.problems import Problem
from audit.ledger.log.proofs import InclusionProof, heads_of
from audit.ledger.log.verdict import AnchorVerdict, Verdict
from cli.shared.ledger_verification import CheckedProof
from core.base.safe_text import safe_line

_MOST_SHOWN = 20


def print_verdict(verdict: Verdict, console: Console) -> None:
    """Print whether it is sound, what is wrong, then what was looked at."""
    if verdict.sound:
        console.print(Text("Sound: nothing was changed, removed, put in or moved.", "bold green"))
    else:
        count = len(verdict.problems) + verdict.more_problems
        console.print(Text(f"NOT SOUND: {_some(count, 'problem')}.", "bold red"))
    if verdict.first_bad is not None:
        console.print(Text(f"First bad record: {_named(verdict.first_bad)}", "bold"))
    for problem in verdict.problems[:_MOST_SHOWN]:
        console.print()
        console.print(Text(f"{problem.wrong.value}: {safe_line(_named(problem))}", "red"))
        console.print(Text(safe_line(f"  {problem.says}.")))
        console.print(Text(f"  What to do: {problem.remedy}.", "dim"))
    hidden = max(len(verdict.problems) - _MOST_SHOWN, 0) + verdict.more_problems
    if hidden:
        console.print(Text(f"\n… and {hidden:,} more (-o json has the first 100).", "dim"))
    console.print()
    for line in _seen(verdict):
        console.print(Text(safe_line(line)))


def print_proof(checked: CheckedProof, console: Console) -> None:
    """Print whether a proof proves what it says."""
    proof = checked.proof
    if isinstance(proof, InclusionProof):
        says = f"record {proof.leaf.id} is at {proof.leaf.at:,} of {proof.head.size:,}"
    else:
        says = f"the head of {proof.second.size:,} continues that of {proof.first.size:,}"
    word = "Proven" if checked.sound else "NOT PROVEN"
    style = "bold green" if checked.sound else "bold red"
    console.print(Text(safe_line(f"{word}: {says}, of {heads_of(proof)[-1].time}."), style))
    for each in checked.problems:
        console.print(Text(safe_line(f"  {each}."), "red"))
    if not checked.anchored:
        console.print(Text("No anchor was asked: the key alone vouches for the head.", "yellow"))


def print_heads(heads: Sequence[TreeHead], console: Console) -> None:
    """Print heads, and what to note of the last."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("TIME", "SIZE", "KEY", "ROOT"):
        table.add_column(column, no_wrap=True, justify="right" if column == "SIZE" else "left")
    for head in heads:
        table.add_row(head.time, f"{head.size:,}", head.key, head.root)
    console.print(table)
    if heads:
        console.print(Text("\nTo note elsewhere, for `sallyport ledger verify`:"))
        console.print(Text(f"  --head {heads[0].size}:{heads[0].root}", "bold"))
    else:
        console.print(Text("No head yet: the auditor signs them.", "yellow"))


def _seen(verdict: Verdict) -> Iterator[str]:
    leaves = verdict.size - verdict.first
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in verdict.kinds.items())
    yield f"Log {verdict.log}: {_some(leaves, 'record')}" + (f" ({kinds})" if kinds else "")
    if verdict.first:
        yield f"It begins at {verdict.first:,}; what stood before is not in it."
    last = f", the last of {verdict.last_head}" if verdict.last_head else ""
    yield f"Heads: {verdict.heads:,}{last}"
    for anchor in verdict.anchors:
        yield from _of_anchor(anchor)
    if not verdict.anchors:
        yield "No anchor: whoever has the key could have written all of it anew."
    elif verdict.not_anchored:
        yield f"Not yet anchored: the last {_some(verdict.not_anchored, 'record')}."
    if verdict.documents_removed or verdict.leaves_removed:
        days = f" (retention kept {verdict.keep_days} days)" if verdict.keep_days else ""
        gone = f"{verdict.documents_removed:,} documents, {verdict.leaves_removed:,} whole records"
        refusals = verdict.refusals_removed
        room = f", {_some(refusals, 'refusal')} among them for want of room" if refusals else ""
        yield f"Gone: {gone}{days}{room}"
    if verdict.aside:
        yield f"In quarantine: {_some(verdict.aside, 'record')} that cannot be read"
    if verdict.adopted:
        some = _some(verdict.adopted, "record")
        yield f"Of an earlier release, taken in by the upgrade: {some}; nothing older is proven"
    if verdict.waiting:
        yield f"Not in the log yet: {_some(verdict.waiting, 'row')} of an earlier release"
    if verdict.late:
        examples = ", ".join(f"{each.id} of {each.time}" for each in verdict.late_examples)
        yield f"Over an hour late: {_some(verdict.late, 'record')} ({examples})"


def _of_anchor(anchor: AnchorVerdict) -> Iterator[str]:
    torn = f", {_some(anchor.torn, 'line')} cut short by a crash" if anchor.torn else ""
    when = f" at {anchor.last}" if anchor.last else ""
    yield (
        f"Anchor {anchor.name}: knows {anchor.reached:,}{when}; proves {anchor.proven:,} by "
        f"{_some(anchor.heads, 'head')}{torn}"
    )
    if anchor.timestamped:
        delay = dt.timedelta(seconds=anchor.most_delay_seconds)
        yield (
            f"Its last head was timestamped at {anchor.timestamped}; the longest delay between the "
            f"time that a head says and its timestamp is {delay}"
        )


def _named(problem: Problem) -> str:
    """Name the record, or the stretch, that a problem is about."""
    if problem.position is None and not problem.id:
        return "the whole"
    if problem.position is not None and problem.end is not None:
        return f"somewhere in {problem.position:,} to {problem.end - 1:,}"
    about = " ".join(filter(None, (problem.kind, problem.id)))
    when = f" of {problem.time}" if problem.time else ""
    where = f" ({problem.cluster})" if problem.cluster else ""
    at = "in no position" if problem.position is None else f"position {problem.position:,}"
    return at + (f": {about}{when}{where}" if about else "")


def _some(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
