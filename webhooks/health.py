"""`/livez`, `/readyz` and `/metrics`: for kubelets, Prometheus and people, without TLS."""

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from webhooks.readiness import Readiness


def build_status_app(readiness: Readiness, registry: CollectorRegistry) -> Starlette:
    """Return the application of the status listener."""

    async def livez(_: Request) -> Response:
        """Say that the event loop turns; nothing else, or a restart would be the cure for it."""
        return PlainTextResponse("ok\n")

    async def readyz(request: Request) -> Response:
        """Answer 200 where reviews can be judged, else 503 with what is missing."""
        missing = readiness.missing()
        status = 503 if missing else 200
        if "verbose" in request.query_params:
            return PlainTextResponse(_describe(readiness), status)
        text = f"not ready: {'; '.join(missing)}\n" if missing else "ok\n"
        return PlainTextResponse(text, status)

    def show_metrics(_: Request) -> Response:
        """Return the metrics in Prometheus' text format; on a thread, off the reviews' loop."""
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return Starlette(
        routes=[
            Route("/livez", livez),
            Route("/readyz", readyz),
            Route("/metrics", show_metrics),
        ]
    )


def _describe(readiness: Readiness) -> str:
    """Return a line for each check, as kube-apiserver's own `/readyz?verbose` does."""
    lines = [
        f"[-]{name}: {'; '.join(found)}" if found else f"[+]{name} ok"
        for name, found in readiness.report().items()
    ]
    failed = any(line.startswith("[-]") for line in lines)
    return "\n".join([*lines, "readyz check failed" if failed else "readyz check passed", ""])
