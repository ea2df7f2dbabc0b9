"""Tries the same connections again and again; a program of its own, run in the network of a Pod.

    python -m tests.harness.programs.probing.watching

reads one line of JSON as `client` does, and prints a line of JSON for each round: the time
at which it began (Unix s) and what became of each. It ends with its stdin.
"""

import asyncio
import json
import sys
import time
from typing import Final

from tests.harness.programs.probing.client import attempt_all

PAUSE_S: Final = 0.2


async def _watch() -> None:
    targets = json.loads(sys.stdin.readline())
    ended = asyncio.ensure_future(asyncio.to_thread(sys.stdin.readline))
    while not ended.done():
        began = time.time()
        print(json.dumps([began, await attempt_all(targets)]), flush=True)
        await asyncio.sleep(PAUSE_S)


if __name__ == "__main__":
    asyncio.run(_watch())
