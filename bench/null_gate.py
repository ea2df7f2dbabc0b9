"""The gate's server with a judge that knows one answer: what HTTP, TLS and JSON cost alone.

python -m bench.null_gate CERT KEY PORT STATUS_PORT
"""

import sys
from pathlib import Path

import uvloop

from core.decision.decision import Decision, Verdict
from core.decision.request import Request
from webhooks.app import AdmissionApp
from webhooks.health import build_status_app
from webhooks.limits import ServerSettings
from webhooks.log import LogSettings, configure_logs, get_logger
from webhooks.metrics import Metrics
from webhooks.readiness import Readiness
from webhooks.server import ServedApp, serve
from webhooks.tls import PairWatcher, TlsSettings

_ALLOW = Decision(id="null", verdict=Verdict.ALLOW, allowed=True)


class NullJudge:
    """Allows everything without looking."""

    def missing(self) -> list[str]:
        """Need nothing."""
        return []

    async def validate(self, request: Request, *, budget: float) -> Decision:  # noqa: ARG002 (the protocol's)
        """Allow."""
        return _ALLOW

    async def mutate(self, request: Request, *, budget: float) -> Decision:  # noqa: ARG002 (the protocol's)
        """Note nothing."""
        return _ALLOW


async def _serve(cert: str, key: str, port: str, status_port: str) -> int:
    configure_logs(LogSettings())
    logger, metrics, readiness = get_logger(), Metrics("bench"), Readiness({})
    app = AdmissionApp(NullJudge(), readiness, metrics, logger)
    return await serve(
        ServedApp(app, "webhooks", "the port", app.max_body_bytes, app.count_dropped, app.answer),
        build_status_app(readiness, metrics.registry),
        ServerSettings(port=int(port), status_port=int(status_port), drain_seconds=0),
        PairWatcher(TlsSettings(Path(cert), Path(key)), logger),
        readiness,
        logger,
    )


if __name__ == "__main__":
    sys.exit(uvloop.run(_serve(*sys.argv[1:5])))
