"""Puts together what policies are shown of a request, as it is recorded to be judged again. Pure.

The *contexts* are those of its Pods in their order, then that of the object itself where rules are
asked about it: a JSON list, or the context alone where there is one. The *fields* are an object:
`declared` gives by kind which fields were copied, so that what was not recorded is told from what
is not there; `parts` those of its Pods, `object` its own.
"""

from collections.abc import Sequence

import msgspec

from admission.model.facts import Facts, SeenFacts
from policies.site.fields import POD, DeclaredFields

_ENCODER = msgspec.json.Encoder()


def with_pods(
    facts: Facts,
    reads: DeclaredFields,
    projections: tuple[bytes, ...],
    contexts: tuple[bytes, ...],
    fields: tuple[bytes, ...],
) -> Facts:
    """Add what is shown of the Pods of an object: one of each for each Pod."""
    if reads.reads(POD):
        declared = {POD: reads.declared(POD)}
        seen = SeenFacts(
            projections=projections, contexts=contexts, parts=fields, declared=declared
        )
    else:
        seen = SeenFacts(projections=projections, contexts=contexts)
    return msgspec.structs.replace(facts, seen=seen)


def with_object(
    facts: Facts, reads: DeclaredFields, kind: str, context: bytes, fields: bytes
) -> Facts:
    """Add what is shown of an object that is no Pod, beside what is shown of its Pods.

    `fields` is empty where an update leaves them as they were.
    """
    before = facts.seen or SeenFacts(contexts=())
    seen = msgspec.structs.replace(
        before,
        contexts=(*before.contexts, context) if context else before.contexts,
        own=fields,
        declared={**before.declared, kind: reads.declared(kind)},
    )
    return msgspec.structs.replace(facts, seen=seen)


def projection_of(seen: SeenFacts) -> bytes:
    """Give what is recorded of the projections."""
    return joined(seen.projections)


def context_of(seen: SeenFacts) -> bytes:
    """Give what is recorded of the contexts."""
    return joined(seen.contexts)


def fields_of(seen: SeenFacts) -> bytes:
    """Give what is recorded of the fields; empty where no rule reads any."""
    if not seen.declared:
        return b""
    declared = [b"%b:%b" % (_ENCODER.encode(kind), each) for kind, each in seen.declared.items()]
    parts = b',"parts":[%b]' % b",".join(seen.parts) if seen.parts else b""
    own = b',"object":%b' % seen.own if seen.own else b""
    return b'{"declared":{%b}%b%b}' % (b",".join(declared), parts, own)


def joined(several: Sequence[bytes]) -> bytes:
    """Give JSON of several as a list, of one as it is, of none as nothing."""
    return several[0] if len(several) == 1 else b"[%b]" % b",".join(several) if several else b""
