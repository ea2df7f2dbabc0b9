"""What identities read of the weights, asked of the auditor over mutual TLS, a part at a time."""

from collections.abc import Sequence

from audit.access.reads_protocol import FORMAT, MOST_ANSWER, PATH, ReadsPage, ReadsSubject
from audit.clients.auditor import AuditorChannel, read_page


class AuditorReads:
    """Asks one auditor about one cluster."""

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
        listed = ",".join(f"{'~'.join(labels)}@{since_ms}" for labels, since_ms in subjects)
        parameters = {"subjects": listed, "until": str(until_ms)}
        if after:
            parameters["after"] = after
        answer = await self._channel.get(PATH, self._cluster, parameters, MOST_ANSWER)
        return read_page(self._channel, answer, ReadsPage, FORMAT, after)
