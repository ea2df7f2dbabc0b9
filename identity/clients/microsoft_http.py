"""Opens the sessions in which Microsoft's services are asked: one connection each, no cookies."""

import ssl
from pathlib import Path

import aiohttp

from core.base.errors import EntraError


def open_session(
    trust: Path | None, setting: str, *, total_s: float, connect_s: float, keeps: bool
) -> aiohttp.ClientSession:
    """Open one; `trust` is the CA (PEM) that `setting` names, `keeps` has its connection stay open.

    Raises:
        EntraError: the CA cannot be read.
    """
    try:
        context = ssl.create_default_context(cafile=str(trust) if trust else None)
    except (OSError, ssl.SSLError) as error:
        text = f"{setting}: no CA can be read ({type(error).__name__})"
        raise EntraError(text, "unreachable") from error
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=context, limit=1, force_close=not keeps),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=total_s, connect=connect_s, sock_connect=connect_s),
        trust_env=False,
    )
