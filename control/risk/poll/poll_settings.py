"""What the poller is told."""

from dataclasses import dataclass, field

from identity.clients.graph import GraphSettings
from identity.clients.tokens import SignIn
from identity.entra.graph_requests import PollIntervals


@dataclass(frozen=True, slots=True)
class PollSettings:
    """As whom, where, and how often Graph is asked."""

    sign_in: SignIn
    graph: GraphSettings = field(default_factory=GraphSettings)
    times: PollIntervals = field(default_factory=PollIntervals)
    guests: bool = False
    """Whether guests are asked for, too; it needs one more permission."""

    @property
    def tenant(self) -> str:
        """The tenant's id, as snapshots have it."""
        return self.sign_in.tenant.lower()
