"""How much an object may hold to be judged: far above any real one, since each value takes time.

What reads an object holds up every other review meanwhile. `webhooks.review_codec` counts the
values of what is large.
"""

from typing import Final

from core.base import names
from core.base.errors import InvalidObjectError
from core.decision.request import Kind, Request

LARGE_VALUES: Final = 4000
"""Up to so many, an object is read at once; with more its turn comes (`Gatherer.seats`). They take
half a millisecond."""

LARGE_BYTES: Final = 8 * 1024
"""So too with what policies are asked about: up to 20 containers."""

MAX_POD_VALUES: Final = 40_000
"""Of both objects of a Pod's review: read with their types in 7 ms. A Pod of 45 containers with 30
variables each has as many, with what kubectl and managers of its fields note of it."""

MAX_VALUES: Final = 70_000
"""Of both objects of any other review: read in 7 ms. An update of a JobSet of 20 jobs, whose
containers have 30 variables each, has 66,000."""

MAX_VALUES_OF_OURS: Final = 20_000
"""Of both objects of a review of Sallyport's own kinds: each is read twice, and its digest made."""

MAX_TEMPLATE_CONTAINERS: Final = 1000
"""In all Pod templates of an object: an Argo Workflow may have hundreds of templates."""

MAX_SKIPPED_VALUES: Final = 250_000
"""More are not even skipped over: what a review says of its objects is all that is read. An Argo
Workflow of 1 MB has 50,000, and its update twice as many."""


_MAX_VALUES_OF: Final = {
    "Pod": MAX_POD_VALUES,
    **dict.fromkeys(("Namespace", "PersistentVolume", "ServiceAccount"), 10_000),
    **dict.fromkeys(("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"), 20_000),
}
"""Of kinds whose values take longer to look at, or of which real objects have few: the largest
published roles have 300 rules."""


def most_values(kind: Kind) -> int:
    """Return how many values both objects of a review may hold to be read."""
    if kind.group == names.GROUP:
        return MAX_VALUES_OF_OURS
    return _MAX_VALUES_OF.get(kind.kind, MAX_VALUES)


def is_too_large(request: Request) -> bool:
    """Return whether a review's objects hold too much to be read."""
    return request.value_count > most_values(request.kind)


def check_size(request: Request) -> None:
    """Raise InvalidObjectError if a review's objects hold too much to be read."""
    if is_too_large(request):
        most = most_values(request.kind)
        problem = f"holds about {request.value_count:,} values; more than {most:,} are not judged"
        raise InvalidObjectError(request.kind.kind, "object", problem)
