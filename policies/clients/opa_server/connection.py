"""The connections to an OPA server: opa-python-client's, in a session of our own.

Its session takes no CA, no socket and no bound on connections; it asks again by itself after each
failure, also of a policy, and reads answers into objects where we need their bytes. So the session
is made here, and evaluation asks through it directly (docs/adr/0052).
"""

import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, NoReturn
from urllib.parse import urlsplit

import aiohttp
from opa_client import AsyncOpaClient  # type: ignore[import-untyped]
from opa_client.errors import (  # type: ignore[import-untyped]
    DeletePolicyError,
    PolicyNotFoundError,
    RegoParseError,
)

from core.base.errors import EngineAwayError, EvaluationError, SettingsError
from network.connector import Connector
from policies.engine.opa_endpoint import PORTS, OpaServer

MOST_CONNECTIONS: Final = 32
"""To one server; OPA evaluates as many at once as it has cores."""

MOST_OF_ANSWER: Final = 4 * 1024 * 1024
"""Bytes of one answer: more than any Pod that kube-apiserver takes needs."""

_CONNECT_S: Final = 2.0
_UNAUTHORIZED: Final = (401, 403)
_NOT_CONNECTED: Final = (aiohttp.ConnectionTimeoutError,)


@dataclass(frozen=True)
class Evaluation:
    """What the server said to one evaluation."""

    status: int
    body: bytes


class OpaConnection(AsyncOpaClient):  # type: ignore[misc]  # It has no types.
    """opa-python-client's connection, which follows and repeats nothing by itself."""

    def __init__(self, server: OpaServer, seconds: float) -> None:
        """Take the server, and what one request other than an evaluation may take, in seconds."""
        parts = urlsplit(server.url)
        super().__init__(
            host=_host(parts.hostname),
            port=parts.port or PORTS.get(parts.scheme, 80),
            ssl=parts.scheme == "https",
            retries=0,
            timeout=seconds,
        )
        self._server = server
        self._socket = parts.path if parts.scheme == "unix" else ""

    async def open(self) -> None:
        """Open the session; nothing is connected yet.

        Raises:
            SettingsError: the CA cannot be read.
        """
        await self._init_session()

    async def _init_session(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=self._make_connector(),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=self.timeout, sock_connect=_CONNECT_S),
            trust_env=False,
        )

    def _make_connector(self) -> aiohttp.BaseConnector:
        if self._socket:
            return aiohttp.UnixConnector(self._socket, limit=MOST_CONNECTIONS)
        return Connector(self._context(), MOST_CONNECTIONS)

    def _context(self) -> ssl.SSLContext:
        ca = self._server.ca_file
        try:
            return ssl.create_default_context(cafile=str(ca) if ca else None)
        except (OSError, ssl.SSLError) as error:
            message = f"evaluation.opa.ca_file: {ca}: no CA can be read ({type(error).__name__})"
            raise SettingsError(message) from error

    @asynccontextmanager
    async def _request(
        self, method: str, url: str, **kwargs: Any
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Ask once, with the token of now; what others put in the way is no answer."""
        headers = {**(kwargs.pop("headers", None) or {}), **self._authorization()}
        try:
            async with self._session.request(
                method, url, headers=headers, allow_redirects=False, **kwargs
            ) as response:
                if response.status in _UNAUTHORIZED:
                    raise self._away(
                        f"refuses to answer ({response.status}): see evaluation.opa.token_file, "
                        "and its policy system.authz"
                    )
                yield response
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            self._translate(error)

    def _translate(self, error: Exception) -> NoReturn:
        if isinstance(error, TimeoutError):
            raise self._away("does not answer in time") from error
        if isinstance(error, aiohttp.ContentTypeError):
            raise self._away(f"answers {error.status} with something that is no JSON") from error
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            text = "shows a certificate of another CA or name: see evaluation.opa.ca_file"
            raise self._away(text) from error
        raise self._away(f"cannot be asked ({type(error).__name__})") from error

    def _away(self, problem: str) -> EngineAwayError:
        return EngineAwayError(f"the OPA server {self._server.url} {problem}")

    def _authorization(self) -> dict[str, str]:
        file = self._server.token_file
        if file is None:
            return {}
        try:
            token = file.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            problem = f"evaluation.opa.token_file: {file}: cannot be read ({type(error).__name__})"
            raise EngineAwayError(problem) from error
        if not token or not token.isprintable():
            raise EngineAwayError(f"evaluation.opa.token_file: {file}: holds no token on one line")
        return {"Authorization": f"Bearer {token}"}

    async def evaluate(self, path: str, document: bytes, seconds: float) -> Evaluation:
        """Evaluate a rule by its path, with strict built-in errors; give what is answered.

        The server also says which bundles it answered from.

        Raises:
            EngineAwayError: it is not there, or what answers is no OPA.
            EvaluationError: it took too long, or answered with too much.
        """
        url = f"{self.root_url}/data/{path}?strict-builtin-errors=true&provenance=true"
        request = self._request(
            "POST",
            url,
            data=b'{"input":%b}' % document,
            headers={"Content-Type": "application/json"},
            timeout=aiohttp.ClientTimeout(total=seconds, sock_connect=min(seconds, _CONNECT_S)),
        )
        try:
            async with request as response:
                return Evaluation(response.status, await self._body(response))
        except EngineAwayError as error:
            cause = error.__cause__
            if isinstance(cause, TimeoutError) and not isinstance(cause, _NOT_CONNECTED):
                message = f"the OPA server exceeded the time limit of {seconds:g} s"
                raise EvaluationError(message) from error
            raise

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        parts, size = [], 0
        async for part in response.content.iter_any():
            parts.append(part)
            size += len(part)
            if size > MOST_OF_ANSWER:
                response.close()
                raise EvaluationError(
                    f"the OPA server answered with more than {MOST_OF_ANSWER} bytes"
                )
        return b"".join(parts)

    async def put(self, name: str, text: str) -> list[dict[str, Any]]:
        """Put a policy there; give the errors for which it is refused.

        Raises:
            EngineAwayError: the server is not there, or does not take policies.
        """
        try:
            await self.update_policy_from_string(text, name, rego_compat=False)
        except RegoParseError as error:
            if not error.errors:
                raise self._away(f"takes no policies: {error.message}") from error
            return list(error.errors)
        except json.JSONDecodeError as error:
            raise self._away("answers with something that is no JSON") from error
        return []

    async def module(self, name: str) -> dict[str, Any]:
        """Return a policy that is there as the server has read it.

        Raises:
            EngineAwayError: the server is not there, or the policy is not.
        """
        try:
            found = (await self.get_policy(name))["result"]["ast"]
        except (PolicyNotFoundError, json.JSONDecodeError, KeyError, TypeError) as error:
            raise self._away("does not give the policies that it took") from error
        return dict(found)

    async def query(self, query: str) -> list[dict[str, Any]]:
        """Return the result of a query.

        Raises:
            EngineAwayError: the server is not there.
        """
        try:
            return list((await self.ad_hoc_query(query)).get("result", []))
        except (json.JSONDecodeError, AttributeError) as error:
            raise self._away("answers a query with something else") from error

    async def remove(self, name: str) -> None:
        """Remove a policy, if it is there.

        Raises:
            EngineAwayError: the server is not there.
        """
        try:
            await self.delete_policy(name)
        except (DeletePolicyError, PolicyNotFoundError):
            return


def _host(name: str | None) -> str:
    host = name or "localhost"
    return f"[{host}]" if ":" in host else host
