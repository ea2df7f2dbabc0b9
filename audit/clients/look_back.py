"""What looking back on an identity asks of the auditor over mutual TLS: its acts, its reads.

Each comes a page at a time.
"""

from collections.abc import Sequence

from audit.access.server import reads_protocol
from audit.access.server.reads_protocol import ReadsPage, ReadsSubject
from audit.clients.auditor import AuditorChannel, read_page
from audit.ledger.server import acts_protocol
from audit.ledger.server.acts_protocol import ActsPage


class AuditorActs:
    """Asks one auditor about the acts of one cluster's identities."""

    def __init__(self, channel: AuditorChannel, cluster: str) -> None:
        self._channel = channel
        self._cluster = cluster

    async def page(self, label: str, since_ms: int, until_ms: int, after: str = "") -> ActsPage:
        """Return the acts of a label in a time, after the id of the page before.

        Raises:
            LedgerError: the auditor does not answer, or with nothing that can be read.
        """
        protocol = acts_protocol
        parameters = {"subject": label, "since": str(since_ms), "until": str(until_ms)}
        if after:
            parameters["after"] = after
        answer = await self._channel.get(
            protocol.PATH, self._cluster, parameters, protocol.MOST_ANSWER
        )
        return read_page(self._channel, answer, ActsPage, protocol.FORMAT, after)


class AuditorReads:
    """Asks one auditor what one cluster's identities read of the weights."""

    def __init__(self, channel: AuditorChannel, cluster: str) -> None:
        self._channel = channel
        self._cluster = cluster

    async def page(
        self, subjects: Sequence[ReadsSubject], until_ms: int, after: str = ""
    ) -> ReadsPage:
        """Return the sums of a part of the accesses, after the id of the page before.

        Raises:
            LedgerError: the auditor does not answer, or with nothing that can be read.
        """
        protocol = reads_protocol
        listed = ",".join(f"{'~'.join(labels)}@{since_ms}" for labels, since_ms in subjects)
        parameters = {"subjects": listed, "until": str(until_ms)}
        if after:
            parameters["after"] = after
        answer = await self._channel.get(
            protocol.PATH, self._cluster, parameters, protocol.MOST_ANSWER
        )
        return read_page(self._channel, answer, ReadsPage, protocol.FORMAT, after)
