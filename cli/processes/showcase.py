"""What `sallyport run` shows: the example reviews, sent over TLS as kube-apiserver sends them."""

import asyncio
import json
import ssl
import textwrap
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from app.processes.run.process import LocalGate
from core.base.safe_text import safe_line, safe_text
from webhooks.server import Addresses


@dataclass
class Showcase:
    """Sends the example reviews, prints what came back, then says where to go on."""

    gate: LocalGate
    console: Console = field(default_factory=lambda: Console(highlight=False, soft_wrap=True))
    _task: asyncio.Task[None] | None = None

    def start(self, addresses: Addresses) -> None:
        """Begin, beside the server that has just started."""
        self._task = asyncio.get_running_loop().create_task(self._show(addresses))

    async def _show(self, addresses: Addresses) -> None:
        host, port = addresses.served
        url = f"https://{host}:{port}/validate"
        if self.gate.reviews and self.gate.reviews.is_dir():
            self.console.print(f"[bold]Example reviews[/], sent to {url}\n")
            for file in sorted(self.gate.reviews.glob("*.json")):
                answer = await asyncio.to_thread(self._send, url, file.read_bytes())
                self._print(file, json.loads(file.read_bytes())["request"], answer)
        self._print_way_on(url, addresses)

    def _send(self, url: str, body: bytes) -> dict[str, Any]:
        context = ssl.create_default_context(cafile=str(self.gate.ca))
        request = urllib.request.Request(  # noqa: S310 (our own https URL)
            url + "?timeout=10s", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, context=context, timeout=10) as answer:  # noqa: S310
            response: dict[str, Any] = json.load(answer)["response"]
        return response

    def _print(self, file: Path, request: dict[str, Any], answer: dict[str, Any]) -> None:
        annotations = answer.get("auditAnnotations", {})
        if not answer["allowed"]:
            word = "[bold red]refused[/]"
        elif answer.get("warnings"):
            word = "[bold yellow]warned [/]"
        else:
            word = "[bold green]allowed[/]"
        user = request["userInfo"]["username"]
        what = f"Pod {request['namespace']}/{request['name']} by {user}"
        by = f", by profile {annotations['profile']}" if "profile" in annotations else ""
        shown, name = (escape(safe_line(text)) for text in (what + by, file.name))
        self.console.print(f"{word}  {shown}  [dim]{name}[/]")
        texts = answer.get("warnings") or [answer.get("status", {}).get("message", "")]
        for text in filter(None, texts):
            self.console.print(Text(textwrap.indent(safe_text(text), " " * 9)))
        self.console.print()

    def _print_way_on(self, url: str, addresses: Addresses) -> None:
        status = "http://{}:{}".format(*addresses.status)
        self.console.print(
            f"\n[bold]Serving[/] {url} and {status}/readyz, /metrics. Decisions are logged to "
            f"{escape(safe_line(str(self.gate.log)))}. Ctrl-C stops.\n"
            f"Next: [bold]{escape(safe_line(f'sallyport review {self.gate.next_file}'))}[/]"
        )
        if self.gate.with_sample:
            self.console.print(
                "Then: [bold]sallyport report --sample[/] (who read which weights, in a made-up "
                "month; in the ledger within half a minute)"
            )
