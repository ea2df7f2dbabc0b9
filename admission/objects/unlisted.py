"""Reads objects of kinds that nobody listed: their Pod templates are known by their shape.

They come where `control` has found their definitions (`control/discovery/loop.py`). What is said
of them is advice, early: their Pods are judged in any case. So in doubt an object is left alone,
since a false refusal stops somebody's work, and a missing one comes later (docs/adr/0027).
"""

from typing import Final

from admission.model.judged_object import Reading
from admission.objects.workloads import read_workload
from core.base.errors import InvalidObjectError
from core.decision.request import Request
from core.kubernetes.workload_kinds import WorkloadKind
from identity.profile_subjects import Controllers
from policies.projection.volumes import ClaimLookup
from policies.site.fields import NO_DECLARED_FIELDS, DeclaredFields

OWNED: Final = "it is made for another object: its Pods are judged"
NO_TEMPLATE: Final = "nothing in it has the shape of a Pod template"
MISSHAPEN: Final = "what looks like a Pod template in it is none"


def read_unlisted(
    request: Request,
    claimed: ClaimLookup,
    controllers: Controllers,
    reads: DeclaredFields = NO_DECLARED_FIELDS,
) -> Reading | str:
    """Give what is judged of an object of a kind that nobody listed, or why it is left alone."""
    try:
        reading = read_workload(_as_workload(request), request, claimed, controllers, reads)
    except InvalidObjectError as error:
        return f"{MISSHAPEN}: {error}"
    if isinstance(reading, str):
        return reading
    if not reading.parts:
        return NO_TEMPLATE
    # Copies that operators keep for themselves, such as Kueue's, are owned by what they copy.
    return reading if reading.root else OWNED


def _as_workload(request: Request) -> WorkloadKind:
    return WorkloadKind(
        group=request.kind.group,
        kind=request.kind.kind,
        resource="",
        versions=(request.kind.version,),
        places=(),
        source="",
        more="what its operator makes of its templates",
    )
