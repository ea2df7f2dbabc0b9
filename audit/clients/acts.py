"""The acts of an identity, asked of the auditor over mutual TLS, a page at a time."""

import msgspec

from audit.clients.channel import AuditorChannel
from audit.ledger.acts_wire import FORMAT, MOST_ANSWER, PATH, ActsPage
from core.errors import LedgerError


class AuditorActs:
    """Asks one auditor about one cluster."""

    def __init__(self, channel: AuditorChannel, cluster: str) -> None:
        self._channel = channel
        self._cluster = cluster

    async def page(self, label: str, since_ms: int, until_ms: int, after: str = "") -> ActsPage:
        """Give the acts of a label in a time, after the id of the page before.

        Raises:
            LedgerError: the auditor does not answer, or with nothing that can be read.
        """
        parameters = {"subject": label, "since": str(since_ms), "until": str(until_ms)}
        if after:
            parameters["after"] = after
        answer = await self._channel.get(PATH, self._cluster, parameters, MOST_ANSWER)
        name = self._channel.name
        try:
            page = msgspec.json.decode(answer, type=ActsPage)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise LedgerError(f"the auditor {name}: its answer cannot be read") from None
        if abs(page.format - FORMAT) > 1:
            raise LedgerError(f"the auditor {name} answers in format {page.format}: upgrade this")
        if page.next and page.next <= after:
            raise LedgerError(f"the auditor {name}: pages without an end")
        return page
