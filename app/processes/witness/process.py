"""Serves a witness over TLS until it is told to stop."""

import sys
from pathlib import Path
from typing import NamedTuple

import uvloop
from prometheus_client import CollectorRegistry

from audit.ledger.witness.service import WitnessService
from audit.ledger.witness.submissions import MOST_BODY
from audit.ledger.witness.witness import Witness
from webhooks.health import build_status_app
from webhooks.limits import ServerSettings
from webhooks.log import LogSettings, configure_logs, get_logger
from webhooks.readiness import Readiness
from webhooks.server import ServedApp, serve
from webhooks.tls import PairWatcher, TlsSettings


class WitnessAddress(NamedTuple):
    """Where a witness listens, and with which certificate."""

    host: str
    port: int
    certificate: Path
    key: Path


def serve_witness(witness: Witness, address: WitnessAddress) -> None:
    """Serve until told to stop. Exits the process.

    Raises:
        CannotBindError: the address is taken or wrong.
    """
    sys.exit(uvloop.run(_serve(witness, address)))


async def _serve(witness: Witness, address: WitnessAddress) -> int:
    writer = configure_logs(LogSettings())
    logger = get_logger()
    pair = PairWatcher(TlsSettings(address.certificate, address.key), logger)
    readiness = Readiness({"certificate": pair.missing})
    try:
        return await serve(
            ServedApp(
                WitnessService(witness, logger), "witness", "--listen", max_body_bytes=MOST_BODY
            ),
            build_status_app(readiness, CollectorRegistry()),
            ServerSettings(host=address.host, port=address.port, status_port=0),
            pair,
            readiness,
            logger,
        )
    finally:
        writer.flush()
