"""Tenants who create objects by dry run without pause, from a process of their own.

The process stands for machines of theirs: it encodes each object once. As a program it reads a
`_Load` as JSON from standard input, and writes what it was answered so far, by kind of answer, as
one line of JSON every tenth of a second until it is ended.
"""

import asyncio
import json
import ssl
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from http import HTTPStatus
from itertools import cycle
from typing import Final

import aiohttp

from network.connector import Connector
from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Json

JUDGED: Final = "judged"
"""What the gate's answers are counted as."""

_WEBHOOKS: Final = "sallyport.dev"
"""In the answers that the gate gave: the name of its webhooks."""

_PLURALS: Final = {"Deployment": "deployments", "Role": "roles"}
_EVERY_S: Final = 0.1
_LONGEST_KIND: Final = 200


@dataclass(frozen=True)
class Tenant:
    """Somebody, and what they create in their namespace."""

    name: str
    objects: Sequence[Json]


@dataclass(frozen=True)
class _Load:
    """What the process is to do."""

    url: str
    authority: str
    token: str
    """Of who may impersonate the tenants."""
    at_once: int
    tenants: list[tuple[str, list[tuple[str, str]]]]
    """Names, and of each the paths and bodies of what they create."""


@asynccontextmanager
async def tenants_creating(
    apiserver: ApiServer, tenants: Iterable[Tenant], at_once: int
) -> AsyncIterator[Counter[str]]:
    """Have each tenant create so many objects at a time; yield the answers so far, as they come."""
    load = _Load(
        apiserver.url,
        str(apiserver.authority.certificate_path),
        apiserver.user().token,
        at_once,
        [(each.name, list(map(_request, each.objects))) for each in tenants],
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, cwd=ROOT,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(asdict(load)).encode())
    process.stdin.close()
    answers = Counter[str]()
    reading = asyncio.create_task(_follow(process.stdout, answers))
    try:
        yield answers
    finally:
        reading.cancel()
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _follow(lines: asyncio.StreamReader, answers: Counter[str]) -> None:
    async for line in lines:
        answers.update(Counter(json.loads(line)) - answers)


def _request(item: Json) -> tuple[str, str]:
    """Return the path and the body of an object's create."""
    version, namespace = item["apiVersion"], item["metadata"]["namespace"]
    path = f"/apis/{version}/namespaces/{namespace}/{_PLURALS[item['kind']]}?dryRun=All"
    return path, json.dumps(item)


async def _run(load: _Load) -> None:
    answers = Counter[str]()
    trust = ssl.create_default_context(cafile=load.authority)
    connections = len(load.tenants) * load.at_once
    async with (
        aiohttp.ClientSession(load.url, connector=Connector(trust, connections)) as session,
        asyncio.TaskGroup() as group,
    ):
        for name, requests in load.tenants:
            headers = {
                "Authorization": f"Bearer {load.token}",
                "Impersonate-User": name,
                "Impersonate-Group": "system:authenticated",
                "Content-Type": "application/json",
            }
            for _ in range(load.at_once):
                group.create_task(_create(session, headers, requests, answers))
        while True:
            await asyncio.sleep(_EVERY_S)
            print(json.dumps(answers), flush=True)


async def _create(
    session: aiohttp.ClientSession,
    headers: dict[str, str],
    requests: Sequence[tuple[str, str]],
    answers: Counter[str],
) -> None:
    encoded = [(path, body.encode()) for path, body in requests]
    for path, body in cycle(encoded):
        async with session.post(path, headers=headers, data=body) as response:
            text = await response.text()
        succeeded = response.status < HTTPStatus.BAD_REQUEST
        kind = JUDGED if succeeded or _WEBHOOKS in text else text[:_LONGEST_KIND]
        answers[kind] += 1


if __name__ == "__main__":
    asyncio.run(_run(_Load(**json.load(sys.stdin))))
