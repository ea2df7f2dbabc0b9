"""The context: what policies see of a request beside its object, and all that they see.

Its published schema is part of `policies/rego/schema/judge.json`. No name and no id of a person is
in it: rules ask for kinds and groups.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

ABSENT_BESIDES_RISK: Final = ("egress", "weights")
"""Facts that no release knows yet: where the Pod may connect, what it can read."""

ABSENT: Final = ("egress", "risk", "weights")
"""What is not known where the installation asks nobody for the risk of identities."""


class Standings(msgspec.Struct, frozen=True, gc=False):
    """What is known of the identities of a request: values of `core.risk.model.Standing`, no ids.

    Empty where there is no such identity, or none whose risk anybody knows.
    """

    requester: str = ""
    author: str = ""
    """Whoever submitted the workload that a controller makes it for."""
    workload: str = ""
    """What the Pod can sign in as; of several the one that the table is strictest with."""


NO_STANDINGS: Final = Standings()


class Context(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What is known of one request. Every key is in the JSON, so that rules need not ask for it."""

    operation: str
    """CREATE, UPDATE or CONNECT."""
    subresource: str = ""
    """`exec`, `attach`, `ephemeralcontainers` …; empty for the object itself."""
    namespace: str = ""
    """The object's; empty for what lies in none."""
    requester: str = ""
    """What kind of identity asks: a value of `identity.subjects.SubjectKind`."""
    groups: tuple[str, ...] = ()
    """The requester's, sorted."""
    namespace_labels: Mapping[str, str] = {}
    new_service_account: bool = False
    """Whether the Pod's service account was made lately."""
    services: tuple[str, ...] = ()
    """Names of the first Services that let in from outside of the cluster what the Pod serves."""
    risk: Standings = NO_STANDINGS
    """What is known of who asks, who is behind it, and what it can sign in as."""
    behaviour: tuple[str, ...] = ()
    """What is new in what the person behind it does, in words of `core.risk.model.Behaviour`."""
    absent: tuple[str, ...] = ABSENT
    """Facts that are not known, so that a rule can tell them from facts that are false; also
    `services` and `service-accounts` where they could not be read."""


_ENCODER: Final = msgspec.json.Encoder(order="deterministic", enc_hook=dict)


def encode_context(context: Context) -> bytes:
    """Return the context as the JSON that policies are evaluated on.

    Equal ones give equal bytes.
    """
    return _ENCODER.encode(context)
