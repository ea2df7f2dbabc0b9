"""An auditor on loopback for tests, in their own event loop: a receiver behind mutual TLS."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client import CollectorRegistry

from audit.clients.auditor import AuditorChannel, AuditorClient
from audit.ledger.records.destination import QuarantinedFrame, Receipt, RecordKeeper
from audit.ledger.records.frames import Frame
from audit.ledger.server.instances import InstanceProver
from audit.ledger.server.receiver import Receiver, ReceiverSettings
from audit.ledger.server.service import AuditorService, AuditorServiceSettings, QuestionAnswerer
from core.base.errors import LedgerError
from tests.harness.programs.pki import Authority, KeyPair
from webhooks.health import build_status_app
from webhooks.limits import ServerSettings
from webhooks.log import get_logger
from webhooks.readiness import Readiness
from webhooks.server import ServedApp, StopRequest, serve
from webhooks.tls import PairWatcher, TlsSettings

CLUSTER = "7d0f9c1e-cluster"


@dataclass
class Memory:
    """A destination that remembers: each frame once."""

    kept: dict[tuple[str, bytes], Frame] = field(default_factory=dict)
    failing: bool = False
    deliveries: list[int] = field(default_factory=list)
    """Frames of each call."""
    quarantined: list[QuarantinedFrame] = field(default_factory=list)

    async def deliver(
        self,
        cluster: str,
        frames: Sequence[Frame],
        quarantined: Sequence[QuarantinedFrame] = (),
    ) -> Receipt:
        """Keep frames, or fail."""
        await asyncio.sleep(0)
        if self.failing:
            raise LedgerError("the database ledger.db takes nothing: No space left on device")
        self.deliveries.append(len(frames))
        before = len(self.kept)
        self.kept.update({(cluster, frame.id): frame for frame in frames})
        stored = len(self.kept) - before
        self.quarantined += quarantined
        return Receipt(stored, len(frames) - stored, len(quarantined))


@dataclass
class Auditor:
    """A running auditor."""

    receiver: Receiver
    authority: Authority
    address: tuple[str, int]
    pair: KeyPair
    """A client's, of CLUSTER."""

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"https://127.0.0.1:{self.address[1]}"

    def client(self, pair: KeyPair | None = None, timeout_s: float = 30.0) -> AuditorClient:
        """Return a client, of CLUSTER unless another pair is given."""
        pair = pair or self.pair
        ca = self.authority.certificate_path
        return AuditorClient(AuditorChannel(self.url, ca, pair.certificate, pair.key, timeout_s))


@asynccontextmanager
async def running_auditor(  # noqa: PLR0913  What tests change of it.
    folder: Path,
    destination: RecordKeeper,
    settings: ReceiverSettings | None = None,
    *,
    asks_for_certificates: bool = True,
    questions: Mapping[str, QuestionAnswerer] | None = None,
    serving: AuditorServiceSettings | None = None,
    prover: InstanceProver | None = None,
) -> AsyncIterator[Auditor]:
    """Run an auditor in this event loop, on a free port; `questions` says who answers where."""
    authority = Authority(folder)
    keys = authority.issue_loopback_server("auditor")
    logger = get_logger()
    receiver = Receiver(destination, logger, settings, prover)
    ca = authority.certificate_path if asks_for_certificates else None
    pair = PairWatcher(TlsSettings(keys.certificate, keys.key, client_ca=ca), logger)
    readiness = Readiness({"certificate": pair.missing})
    status = build_status_app(readiness, CollectorRegistry())
    server = ServerSettings(port=0, status_port=0, drain_seconds=0.0)
    stop, started = StopRequest(), asyncio.get_running_loop().create_future()
    told = started.set_result
    app = AuditorService(receiver, questions or {}, logger, serving)
    served = ServedApp(app, "auditor", "the port")
    running = serve(served, status, server, pair, readiness, logger, stop=stop, on_started=told)
    run = asyncio.create_task(running)
    await asyncio.wait([run, started], return_when=asyncio.FIRST_COMPLETED)
    if run.done():
        run.result()
    client = authority.issue_client("gate", f"sallyport://{CLUSTER}/gate")
    try:
        yield Auditor(receiver, authority, started.result().served, client)
    finally:
        stop.ask()
        await run
