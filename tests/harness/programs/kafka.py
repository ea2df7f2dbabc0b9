"""A real Kafka broker on loopback that lets clients in as Event Hubs does.

One process (KRaft, combined mode). Clients come over TLS, with a connection string for the user
`$ConnectionString` (SASL PLAIN) or with a signed token (SASL OAUTHBEARER), whose signature, issuer,
audience and time the broker checks by keys in a file. Tests put records in over a listener of
their own, without either.
"""

import asyncio
import base64
import json
import os
import shutil
import signal
import socket
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiokafka  # type: ignore[import-untyped]
import jwt
from aiokafka.admin import AIOKafkaAdminClient, NewTopic  # type: ignore[import-untyped]
from aiokafka.errors import GroupCoordinatorNotAvailableError  # type: ignore[import-untyped]
from aiokafka.structs import TopicPartition  # type: ignore[import-untyped]
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.harness.programs.availability import skip_or_fail
from tests.harness.programs.pki import Authority, KeyPair
from tests.harness.programs.ports import free_ports
from tests.harness.programs.process import POLL_S, ServerFailedError, ServerProcess
from tests.tools.debian import run
from tests.tools.kafka import KafkaPrograms, provide_kafka
from tests.tools.provide import CannotProvideError

START_TIMEOUT_S: Final = 60.0
ATTEMPTS: Final = 5
CONNECTION_STRING: Final = (
    "Endpoint=sb://127.0.0.1/;SharedAccessKeyName=listen;SharedAccessKey=bWFkZS11cC1mb3ItdGVzdHM="
)
ISSUER: Final = "https://sts.windows.net/11111111-2222-3333-4444-555555555555/"
AUDIENCE: Final = "https://127.0.0.1"
"""Of a token for `https://127.0.0.1/.default`, as Entra ID gives them."""

_PACKAGE: Final = "org.apache.kafka.common.security"
_JAVA_OPTIONS: Final = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)


def require_kafka() -> KafkaPrograms:
    """Return the broker's programs; without them skip the test aloud, or in CI fail it."""
    try:
        return provide_kafka()
    except CannotProvideError as error:
        skip_or_fail(error)


@dataclass
class TokenIssuer:
    """Signs tokens as Entra ID's token endpoint does, and publishes its key in a file."""

    folder: Path
    _key: rsa.RSAPrivateKey = field(
        default_factory=lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048)
    )

    @property
    def keys(self) -> Path:
        """The file of the JSON Web Key Set."""
        path = self.folder / "token-keys.json"
        if not path.exists():
            numbers = self._key.public_key().public_numbers()
            key = {"kty": "RSA", "kid": "1", "use": "sig", "alg": "RS256"}
            key |= {"n": _base64url(numbers.n), "e": _base64url(numbers.e)}
            path.write_text(json.dumps({"keys": [key]}))
        return path

    def token(self, *, audience: str = AUDIENCE, lasts_s: float = 3600.0) -> str:
        """Return a token; with a negative time one that has expired."""
        now = int(time.time())
        claims: dict[str, Any] = {
            "iss": ISSUER,
            "aud": audience,
            "sub": str(uuid.uuid4()),
            "iat": now - 10,
            "exp": int(now + lasts_s),
        }
        return jwt.encode(claims, self._key, "RS256", headers={"kid": "1"})


def _base64url(number: int) -> str:
    content = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


class Kafka:
    """A running broker; blocking, but for what a client does with records."""

    def __init__(
        self, programs: KafkaPrograms, folder: Path, authority: Authority | None = None
    ) -> None:
        """Make its storage and its certificate in `folder`, and start it.

        Raises:
            ServerFailedError: it did not come up; the message has its log's tail.
        """
        self._programs = programs
        self._folder = folder
        self.authority = authority or Authority(folder)
        self.issuer = TokenIssuer(folder)
        self._keystore = _keystore(folder, self.authority.issue_loopback_server("kafka"))
        self._formatted = False
        self._ports: list[int] = []
        self.start()

    @property
    def server(self) -> str:
        """Where clients come in as they do at Event Hubs: `127.0.0.1:PORT`."""
        return f"127.0.0.1:{self._ports[0]}"

    def start(self) -> None:
        """Start it, at the ports that it had before, and wait until it answers."""
        for attempt in range(1, ATTEMPTS + 1):
            self._ports = self._ports or free_ports(3)
            properties = self._write_properties()
            if not self._formatted:
                cluster = str(uuid.uuid4())
                tool = ["kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties)]
                run([*self._java(), *tool])
                self._formatted = True
            self._process = ServerProcess(
                "kafka", [*self._java(), "kafka.Kafka", properties], self._folder / "kafka.log"
            )
            try:
                self._process.wait_until(self._ready, START_TIMEOUT_S)
            except ServerFailedError as error:
                self._process.stop()
                if attempt == ATTEMPTS or "Address already in use" not in str(error):
                    raise
                # The storage names the controller's port.
                shutil.rmtree(self._folder / "storage", ignore_errors=True)
                self._ports, self._formatted = [], False
            else:
                return

    def stop(self) -> None:
        """End it; what it stored stays, for another start."""
        self._process.stop()

    def freeze(self) -> None:
        """Have it answer nothing, and keep its connections."""
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Have it go on."""
        os.kill(self._process.pid, signal.SIGCONT)

    def log_tail(self) -> str:
        """Return the last lines of its log."""
        return self._process.log_tail()

    async def make_topic(self, name: str, partitions: int = 1) -> None:
        """Make a topic: an event hub."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self._open_server)
        await admin.start()
        try:
            await admin.create_topics([NewTopic(name, partitions, 1)])
            async with asyncio.timeout(START_TIMEOUT_S):
                while not await _is_led(admin, name):  # noqa: ASYNC110  The broker tells nobody.
                    await asyncio.sleep(POLL_S)
        finally:
            await admin.close()

    async def put(self, topic: str, *values: bytes, partition: int | None = None) -> None:
        """Put records in, and return once the broker has them."""
        async with self.producer() as producer:
            for value in values:
                await producer.send_and_wait(topic, value, partition=partition)

    @asynccontextmanager
    async def producer(self) -> AsyncIterator[aiokafka.AIOKafkaProducer]:
        """Yield a producer, for those who put records in at a given time."""
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=self._open_server)
        await producer.start()
        try:
            yield producer
        finally:
            await producer.stop()

    async def committed(self, group: str, topic: str, partition: int = 0) -> int:
        """Return the offset that a group goes on at; -1 where it has none."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self._open_server)
        await admin.start()
        try:
            offsets = await admin.list_consumer_group_offsets(group)
        except GroupCoordinatorNotAvailableError:  # The first group of all makes it come up.
            return -1
        finally:
            await admin.close()
        found = offsets.get(TopicPartition(topic, partition))
        return -1 if found is None else int(found.offset)

    @property
    def _open_server(self) -> str:
        return f"127.0.0.1:{self._ports[1]}"

    def _java(self) -> list[str]:
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self.issuer.keys.as_uri()}"
        return [
            str(self._programs.java),
            *_JAVA_OPTIONS,
            allowed,
            "-cp",
            f"{self._programs.jars}/*",
        ]

    def _ready(self) -> bool:
        log = self._folder / "storage" / "meta.properties"
        return log.exists() and _answers(self._ports[0]) and _answers(self._ports[1])

    def _write_properties(self) -> Path:
        clients, tests, controller = self._ports
        sasl = "listener.name.clients"
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": (
                f"CLIENTS://127.0.0.1:{clients},TESTS://127.0.0.1:{tests},"
                f"CONTROLLER://127.0.0.1:{controller}"
            ),
            "listener.security.protocol.map": (
                "CLIENTS:SASL_SSL,TESTS:PLAINTEXT,CONTROLLER:PLAINTEXT"
            ),
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "TESTS",
            "log.dirs": str(self._folder / "storage"),
            "auto.create.topics.enable": "false",
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "num.network.threads": "2",
            "num.io.threads": "2",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._keystore),
            "sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER",
            f"{sasl}.connections.max.reauth.ms": "3600000",
            f"{sasl}.plain.sasl.jaas.config": (
                f"{_PACKAGE}.plain.PlainLoginModule required "
                f'user_$ConnectionString="{CONNECTION_STRING}";'
            ),
            f"{sasl}.oauthbearer.sasl.jaas.config": (
                f"{_PACKAGE}.oauthbearer.OAuthBearerLoginModule required;"
            ),
            f"{sasl}.oauthbearer.sasl.server.callback.handler.class": (
                f"{_PACKAGE}.oauthbearer.OAuthBearerValidatorCallbackHandler"
            ),
            f"{sasl}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": self.issuer.keys.as_uri(),
            f"{sasl}.oauthbearer.sasl.oauthbearer.expected.audience": AUDIENCE,
            f"{sasl}.oauthbearer.sasl.oauthbearer.expected.issuer": ISSUER,
        }
        path = self._folder / "server.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        return path


def _answers(port: int) -> bool:
    with socket.socket() as tried:
        tried.settimeout(1.0)
        return tried.connect_ex(("127.0.0.1", port)) == 0


async def _is_led(admin: AIOKafkaAdminClient, topic: str) -> bool:
    """Return whether each partition of a topic can be written to."""
    (found,) = await admin.describe_topics([topic])
    return not found["error_code"] and all(not each["error_code"] for each in found["partitions"])


def _keystore(folder: Path, pair: KeyPair) -> Path:
    """Write a pair as Kafka reads it: the key as PKCS 8, then the certificate."""
    key = serialization.load_pem_private_key(pair.key.read_bytes(), None)
    content = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path = folder / "kafka.pem"
    path.write_bytes(content + pair.certificate.read_bytes())
    return path
