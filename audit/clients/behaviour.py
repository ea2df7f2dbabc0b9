"""Asks the auditor which identities act unusually."""

import msgspec

from audit.behaviour.protocol import FORMAT, MOST_ACTING, MOST_ANSWER, PATH, SINCE, BehaviourAnswer
from audit.clients.auditor import AuditorChannel
from core.base.errors import LedgerError
from core.base.json_errors import DECODE_ERRORS

_DECODER = msgspec.json.Decoder(BehaviourAnswer)


class BehaviourClient:
    """Asks one auditor about one cluster."""

    def __init__(self, channel: AuditorChannel, cluster: str) -> None:
        """Take the way to the auditor, and the cluster that the way's certificate is of."""
        self._channel = channel
        self._cluster = cluster

    async def ask(self, cursor: str) -> BehaviourAnswer:
        """Return what changed since a cursor; an empty one means all that counts now.

        Raises:
            LedgerError: there is no answer, or none that this release reads.
        """
        parameters = {SINCE: cursor} if cursor else {}
        content = await self._channel.get(PATH, self._cluster, parameters, MOST_ANSWER)
        name = self._channel.name
        try:
            answer = _DECODER.decode(content)
        except DECODE_ERRORS:
            raise LedgerError(f"the auditor {name}: its answer cannot be read") from None
        if abs(answer.format - FORMAT) > 1:
            text = f"the auditor {name} answers in format {answer.format}: upgrade this"
            raise LedgerError(text)
        if len(answer.unusual) > MOST_ACTING:
            raise LedgerError(f"the auditor {name} names more than {MOST_ACTING} identities")
        return answer
