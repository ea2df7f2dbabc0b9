"""A TLS listener beside the other work of a process, for as long as that lasts."""

import asyncio

from structlog.typing import FilteringBoundLogger

from webhooks.listener import Listener, bind, make_config
from webhooks.server import Served, ServerSettings
from webhooks.tls import PairWatcher

FINISH_S = 3.0
"""The longest that requests in flight are waited for at the end."""


async def serve_beside(
    served: Served, host: str, port: int, pair: PairWatcher, logger: FilteringBoundLogger
) -> None:
    """Serve until cancelled; what is in flight then is finished.

    A missing certificate does not keep it from starting: handshakes fail until it is there.

    Raises:
        CannotBindError: the address is taken or wrong.
    """
    pair.look()
    with bind(host, port, served.setting) as bound:
        listener = Listener(
            make_config(served.app, pair.context, ServerSettings.keep_alive_seconds),
            bound,
            FINISH_S,
            served.max_body_bytes,
        )
        watcher = asyncio.create_task(pair.watch())
        serving = asyncio.create_task(listener.run_until_told())
        logger.info("listening", served=served.name, address=bound.getsockname()[:2])
        try:
            ended, _ = await asyncio.wait([watcher, serving], return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        finally:
            listener.should_exit = True
            watcher.cancel()
            await asyncio.gather(watcher, serving, return_exceptions=True)
