"""What people try in these tests, and how kube-apiserver's answers are read."""

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import aiohttp

from control.risk.push.receiver import PATH
from tests.api.identity.scene import BEARER, LAB, POD, Scene
from tests.harness.programs.client import Client

_POLL_S: Final = 0.1


@dataclass(frozen=True)
class Said:
    """What kube-apiserver said."""

    status: int
    message: str

    @property
    def refused(self) -> bool:
        """Whether the gate refused; what it lets through fails later, without a kubelet."""
        return self.status == HTTPStatus.FORBIDDEN and "admission webhook" in self.message

    @property
    def for_risk(self) -> bool:
        """Whether that was for risk."""
        return self.refused and "identity/risk" in self.message


async def enter(client: Client, pod: str = POD, namespace: str = LAB) -> Said:
    """Try to run a command in a Pod."""
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/exec"
    container = "main"
    status, answer = await client.request(
        "POST", path, parameters={"command": "id", "container": container, "stdout": "true"}
    )
    return Said(status, str(answer.get("message", "")))


async def until(what: Callable[[], Awaitable[bool]], longest_s: float) -> float:
    """Ask again and again until it is so; give the seconds that it took.

    Raises:
        AssertionError: it took too long.
    """
    began = time.monotonic()
    while not await what():
        took = time.monotonic() - began
        assert took < longest_s, f"not after {took:.1f} s"
        await asyncio.sleep(_POLL_S)
    return time.monotonic() - began


async def until_refused(client: Client, longest_s: float) -> float:
    """Wait until somebody may enter the Pod no more; give the seconds that it took."""

    async def refused() -> bool:
        return (await enter(client)).for_risk

    return await until(refused, longest_s)


async def until_let_in(client: Client, longest_s: float) -> float:
    """Wait until somebody may enter the Pod; give the seconds that it took."""

    async def let_in() -> bool:
        return not (await enter(client)).refused

    return await until(let_in, longest_s)


async def push(scene: Scene, token: bytes, bearer: str = BEARER) -> int:
    """Push a security event token to control; give the status."""
    context = ssl.create_default_context(cafile=str(scene.apiserver.authority.certificate_path))
    url = f"https://127.0.0.1:{scene.events_port}{PATH}"
    headers = {"Content-Type": "application/secevent+jwt", "Authorization": f"Bearer {bearer}"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=token, headers=headers, ssl=context) as answer,
    ):
        return answer.status
