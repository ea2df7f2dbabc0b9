"""A transmitter of OpenID security events: it signs tokens, and publishes its keys over HTTPS."""

import json
import ssl
import threading
import time
import uuid
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, Self

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from tests.harness.programs.pki import Authority

ISSUER: Final = "https://transmitter.example/"
AUDIENCE: Final = "https://sallyport.example/security-events"
CAEP: Final = "https://schemas.openid.net/secevent/caep/event-type/"
TYPE: Final = "secevent+jwt"


class Transmitter:
    """One issuer with two keys, `rsa` and `ec`; by `answer` its site answers otherwise."""

    def __init__(self, folder: Path) -> None:
        """Make the keys, and a certificate by the CA `folder`/ca.crt."""
        self.rsa = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.ec = ec.generate_private_key(ec.SECP256R1())
        self.keys: list[dict[str, Any]] = [
            {**_public(RSAAlgorithm, self.rsa), "kid": "rsa", "use": "sig"},
            {**_public(ECAlgorithm, self.ec), "kid": "ec", "use": "sig", "alg": "ES256"},
        ]
        self.answer: tuple[int, dict[str, str], bytes] | None = None
        """Status, headers and body; None for the keys."""
        self.asked = 0
        """Requests for the keys."""
        self.authority = Authority(folder)
        self._pair = self.authority.issue_loopback_server("transmitter")
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self._port = 0

    def __enter__(self) -> Self:
        """Serve the keys."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving."""
        self.stop()

    @property
    def keys_url(self) -> str:
        """Where the keys are."""
        return f"https://127.0.0.1:{self._port}/keys"

    def start(self) -> None:
        """Serve the keys, at the port that was used before."""
        self._server = _Server(self, self._port)
        self._server.socket = self._tls().wrap_socket(self._server.socket, server_side=True)
        self._port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def stop(self) -> None:
        """Stop serving: connections are refused."""
        server, self._server = self._server, None
        if server is not None and self._thread is not None:
            server.shutdown()
            self._thread.join()
            server.server_close()

    def token(
        self,
        claims: Mapping[str, Any],
        *,
        key: Any = None,
        algorithm: str = "RS256",
        header: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Sign claims; by the RSA key unless another is given. `header` is added to the usual."""
        headers = {"typ": TYPE, "kid": "rsa", **(header or {})}
        headers = {name: value for name, value in headers.items() if value is not None}
        signing: Any = None if algorithm == "none" else key or self.rsa
        return jwt.encode(dict(claims), signing, algorithm, headers=headers).encode()

    def _tls(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._pair.certificate, self._pair.key)
        return context


def claims(person: str, event: str = "risk-level-change", **changes: Any) -> dict[str, Any]:
    """Return the claims of one event of a person; `changes` replace claims, None takes one away."""
    now = int(time.time())
    about = {"event_timestamp": now}
    if event == "risk-level-change":
        about |= {"principal": "USER", "current_level": "HIGH"}  # type: ignore[dict-item]
    made = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "iat": now,
        "jti": str(uuid.uuid4()),
        "sub_id": {"format": "opaque", "id": person},
        "events": {CAEP + event: about},
        **changes,
    }
    return {name: value for name, value in made.items() if value is not None}


def _public(algorithm: Any, key: Any) -> dict[str, Any]:
    public: dict[str, Any] = json.loads(algorithm.to_jwk(key.public_key()))
    public.pop("key_ops", None)
    return public


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, transmitter: Transmitter, port: int) -> None:
        self.transmitter = transmitter
        super().__init__(("127.0.0.1", port), _Site)

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that leave."""


class _Site(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        """Answer with the keys, or with what is wanted instead."""
        transmitter = self.server.transmitter
        transmitter.asked += 1
        keys = json.dumps({"keys": transmitter.keys}).encode()
        kind = {"Content-Type": "application/jwk-set+json"}
        status, headers, body = transmitter.answer or (200, kind, keys)
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""
