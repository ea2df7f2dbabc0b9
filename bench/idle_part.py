"""A gate in which one part does nothing: the other half of the pairs of `bench.paired_gates`.

    python -m bench.idle_part PART gate …

It imports only what a gate imports, so that the two gates of a pair differ in nothing else.
"""

import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from admission import chain, gather, judge
from admission.approvals.break_glass import BreakGlassGatherer
from admission.approvals.check import check_guards
from admission.approvals.exceptions import ExceptionGatherer
from admission.gather import Gatherer
from admission.model.facts import Facts
from admission.model.outcome import Outcome
from admission.requester.check import check_notes
from admission.requester.facts import RequesterGatherer
from admission.sandbox.check import check_sandbox
from admission.weights.check import check_weights
from admission.weights.facts import WeightGatherer
from cli.main import main
from identity.subjects import SubjectKind
from kube.cluster.folder import FolderCluster


class Replacement(NamedTuple):
    """What stands in a gate in the place of an attribute of `owner`."""

    owner: Any
    name: str
    value: Any


def _chain_without(*checks: Callable[..., Outcome]) -> Replacement:
    """Leave checks out of the chain."""
    return Replacement(
        chain, "CHAIN", tuple(link for link in chain.CHAIN if link.check not in checks)
    )


def _judged_without(*gatherings: Callable[..., Awaitable[Facts]]) -> Replacement:
    """Leave steps out of what is gathered once the policies have answered."""
    steps = gather.EVALUATED_STEPS
    kept = tuple(step for step in steps if step.gather not in gatherings)
    return Replacement(gather, "EVALUATED_STEPS", kept)


def _always(make: Callable[[], Any]) -> Callable[..., Any]:
    return lambda *_, **__: make()


async def _same_facts(_self: object, _request: object, *arguments: Any) -> Facts:
    """Return the facts as they are, whatever stands beside them."""
    return next(each for each in arguments if isinstance(each, Facts))


async def _no_more_facts(_self: Any, _request: Any, _reading: Any, facts: Facts) -> Facts:
    """Return the facts as they are."""
    return facts


async def _no_origin(*_: Any) -> None:
    """Say nothing about where an object comes from."""


def _no(*_: Any) -> bool:
    return False


def _none(_: Any) -> None:
    """Know of nothing."""


WITHOUT: Final[Mapping[str, tuple[Replacement, ...]]] = {
    # Nobody is noted or traced; no exception, BreakGlass or default is looked for.
    "people": (
        Replacement(RequesterGatherer, "facts_of", _same_facts),
        Replacement(RequesterGatherer, "trace_gaps", _no_origin),
        Replacement(ExceptionGatherer, "facts_of", _same_facts),
        Replacement(BreakGlassGatherer, "facts_of", _same_facts),
        Replacement(Gatherer, "kind_of", _always(lambda: SubjectKind.HUMAN)),
        Replacement(judge, "fill_defaults", _always(list)),
        Replacement(judge, "defaults_note", _always(dict)),
        Replacement(judge, "notes_to_record", _always(dict)),
        _chain_without(check_guards, check_notes),
    ),
    # Nobody ever asks for a sandbox.
    "sandbox": (
        _judged_without(Gatherer.gather_sandbox),
        Replacement(Facts, "may_ask_for_sandbox", property(_no)),
        _chain_without(check_sandbox),
    ),
    # Nobody is known to be at risk.
    "identity": (Replacement(FolderCluster, "risk", _none),),
    # Nobody looks for weights.
    "weights": (
        Replacement(WeightGatherer, "facts_of", _no_more_facts),
        _chain_without(check_weights),
    ),
}
"""By part. A gate fails at its start where one of these attributes is called otherwise."""


def replace(part: str) -> None:
    """Put the replacements of a part in place, for as long as the process lives."""
    for each in WITHOUT[part]:
        patch.object(each.owner, each.name, each.value).start()


if __name__ == "__main__":
    replace(sys.argv.pop(1))
    main()
