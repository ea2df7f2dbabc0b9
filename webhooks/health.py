"""`/livez`, `/readyz` and `/metrics`: for kubelets, Prometheus and people, without TLS."""

from fastapi import FastAPI, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from webhooks.readiness import Readiness


def build_status_app(readiness: Readiness, registry: CollectorRegistry) -> FastAPI:
    """Return the application of the status listener."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/livez")
    async def livez() -> Response:
        """Say that the event loop turns; nothing else, or a restart would be the cure for it."""
        return PlainTextResponse("ok\n")

    @app.get("/readyz")
    async def readyz(verbose: str | None = None) -> Response:
        """Answer 200 where reviews can be judged, else 503 with what is missing."""
        missing = readiness.missing()
        status = 503 if missing else 200
        if verbose is not None:
            return PlainTextResponse(_describe(readiness), status)
        text = f"not ready: {'; '.join(missing)}\n" if missing else "ok\n"
        return PlainTextResponse(text, status)

    @app.get("/metrics")
    def show_metrics() -> Response:
        """Return the metrics in Prometheus' text format; on a thread, off the reviews' loop."""
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return app


def _describe(readiness: Readiness) -> str:
    """Return a line for each check, as kube-apiserver's own `/readyz?verbose` does."""
    lines = [
        f"[-]{name}: {'; '.join(found)}" if found else f"[+]{name} ok"
        for name, found in readiness.report().items()
    ]
    failed = any(line.startswith("[-]") for line in lines)
    return "\n".join([*lines, "readyz check failed" if failed else "readyz check passed", ""])
