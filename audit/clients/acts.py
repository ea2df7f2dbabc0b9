"""The acts of an identity, asked of the auditor over mutual TLS, a page at a time."""

from audit.clients.auditor import AuditorChannel, read_page
from audit.ledger.server.acts_protocol import FORMAT, MOST_ANSWER, PATH, ActsPage


class AuditorActs:
    """Asks one auditor about one cluster."""

    def __init__(self, channel: AuditorChannel, cluster: str) -> None:
        self._channel = channel
        self._cluster = cluster

    async def page(self, label: str, since_ms: int, until_ms: int, after: str = "") -> ActsPage:
        """Return the acts of a label in a time, after the id of the page before.

        Raises:
            LedgerError: the auditor does not answer, or with nothing that can be read.
        """
        parameters = {"subject": label, "since": str(since_ms), "until": str(until_ms)}
        if after:
            parameters["after"] = after
        answer = await self._channel.get(PATH, self._cluster, parameters, MOST_ANSWER)
        return read_page(self._channel, answer, ActsPage, FORMAT, after)
