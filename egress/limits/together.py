"""Which allowlists are broad only together: two halves of the Internet, in two of them. Pure.

The gate refuses the second as it is written. Two that are written in the same moment do not see one
another: so the controller opens no more than the limit allows, the older first.
"""

from collections.abc import Callable, Iterable

from core.base.networks import Span, merge_spans, subtract_spans
from core.egress.allowlists import EgressAllowlist
from egress.limits.breadth import Limits, Measured, measure, too_many
from egress.model.facts import TagSource


def beyond_together(
    allowlists: Iterable[EgressAllowlist],
    limits: Limits,
    tags: TagSource,
    known: Callable[[EgressAllowlist], Measured] | None = None,
) -> dict[str, str]:
    """Say by UID why some of a namespace's allowlists may open nothing.

    Each by itself is within the limits; those that are not are none of it, since two people answer
    for each. One that adds no address is never among them. `known` gives what is measured already.
    """
    measured = (
        (each, known(each) if known else measure(each.spec.to, limits, tags)) for each in allowlists
    )
    small = [(each, found.spans) for each, found in measured if found.spans and not found.reasons]
    if not _reason([span for _, spans in small for span in spans], limits):
        return {}
    found: dict[str, str] = {}
    taken: list[Span] = []
    for each, spans in sorted(small, key=lambda one: _age(one[0])):
        if not any(subtract_spans(span, taken) for span in spans):
            continue
        if reason := _reason([*taken, *spans], limits):
            found[each.meta.uid] = (
                f"with older allowlists of the namespace: {reason}; put these networks into one "
                "allowlist: two others can approve that one"
            )
        else:
            taken = merge_spans([*taken, *spans])
    return found


def _age(allowlist: EgressAllowlist) -> tuple[bool, str, str]:
    """Give what sorts the older first; what is in no cluster yet is the newest."""
    made = allowlist.meta.creation_timestamp
    return made is None, made or "", allowlist.meta.uid


def _reason(spans: list[Span], limits: Limits) -> str:
    return next(too_many(merge_spans(spans), limits), "")
