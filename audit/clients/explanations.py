"""Asks an auditor for a decision, as who asks: with a bearer token of the cluster."""

import ssl
from http import HTTPStatus
from pathlib import Path
from typing import Final

import aiohttp
import msgspec

from audit.clients.auditor import read_auditor_url
from audit.ledger.server.explanations import PATH
from core.base.document_part import require_format
from core.base.errors import LedgerError, SettingsError
from core.base.json_errors import DECODE_ERRORS
from core.base.safe_text import printable
from core.decision.document import FORMAT, DecisionDocument
from network.error_texts import describe

_TIMEOUT_S: Final = 20.0
_MOST_ANSWER: Final = 1024 * 1024
_FOREIGN: Final = (aiohttp.ClientError, aiohttp.http.HttpProcessingError, OSError)
_DECODER: Final = msgspec.json.Decoder(list[DecisionDocument])


async def fetch_explanation(
    url: str, ca: Path | None, token: str, decision_id: str
) -> list[DecisionDocument]:
    """Return the decision of a whole id, as far as the token's owner may read it.

    Raises:
        SettingsError: `url` is no `https://host[:port]`, or the CA cannot be read.
        LedgerError: there is no such decision for them, or no answer. Never with the token.
    """
    parts = read_auditor_url(url, "explain.url")
    try:
        context = ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(f"explain.ca {ca} cannot be read ({error}); give a PEM file") from None
    where = f"https://{parts.netloc}{PATH}{decision_id}"
    limits = aiohttp.ClientTimeout(total=_TIMEOUT_S)
    headers = {"Authorization": f"Bearer {token}"}
    try:
        async with (
            aiohttp.ClientSession(timeout=limits) as session,
            session.get(where, ssl=context, headers=headers, allow_redirects=False) as answer,
        ):
            body = await answer.content.read(_MOST_ANSWER + 1)
            status = answer.status
    except (TimeoutError, *_FOREIGN) as error:
        message = f"the auditor at {parts.netloc} does not answer: {describe(error)}"
        raise LedgerError(message) from None
    if status != HTTPStatus.OK or len(body) > _MOST_ANSWER:
        said = printable(body[:400].decode(errors="replace").strip(), 300)
        raise LedgerError(f"the auditor at {parts.netloc} answers {status}: {said}")
    try:
        found = _DECODER.decode(body)
        for each in found:
            require_format(each.format, FORMAT)
    except (*DECODE_ERRORS, ValueError) as error:
        message = f"the auditor at {parts.netloc} answers with no decision: {describe(error)}"
        raise LedgerError(message) from None
    return found
