"""A gate in which People and rights does nothing: the other half of the pairs of `bench.people`.

Nobody is noted or traced, no exception and no BreakGlass is looked for, no default is filled in.
"""

from collections.abc import Callable
from typing import Any, Final
from unittest.mock import patch

from admission import chain, judge
from admission.approvals.break_glass import BreakGlassGatherer
from admission.approvals.check import check_guards
from admission.approvals.exceptions import ExceptionGatherer
from admission.gather import Gatherer
from admission.model.facts import Facts
from admission.requester.check import check_notes
from admission.requester.facts import RequesterGatherer
from cli.main import main
from identity.subject_kind import SubjectKind


async def _same_facts(_self: object, _request: object, *arguments: Any) -> Facts:
    """Return the facts back, whatever stands beside them."""
    return next(each for each in arguments if isinstance(each, Facts))


async def _no_origin(*_: Any) -> None:
    """Say nothing about where an object comes from."""


def _nothing(give: Callable[[], Any]) -> Callable[..., Any]:
    return lambda *_, **__: give()


_REPLACED: Final = (
    (RequesterGatherer, "facts_of", _same_facts),
    (RequesterGatherer, "covered", _no_origin),
    (ExceptionGatherer, "facts_of", _same_facts),
    (BreakGlassGatherer, "facts_of", _same_facts),
    (Gatherer, "kind_of", _nothing(lambda: SubjectKind.HUMAN)),
    (judge, "fill", _nothing(list)),
    (judge, "note_of", _nothing(dict)),
    (judge, "notes_to_record", _nothing(dict)),
    (
        chain,
        "CHAIN",
        tuple(each for each in chain.CHAIN if each.check not in {check_guards, check_notes}),
    ),
)

if __name__ == "__main__":
    for place, name, instead in _REPLACED:
        patch.object(place, name, instead).start()
    main()
