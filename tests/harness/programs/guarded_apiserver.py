"""A kube-apiserver that asks a gate: what is shipped is installed, the webhooks are registered."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, Json, connect
from tests.harness.programs.controller_manager import ControllerManager
from tests.harness.programs.gate import Gate
from tests.harness.programs.webhooks import registered

T = TypeVar("T")


@dataclass(frozen=True)
class Installation:
    """A kube-apiserver, and the gate that it asks."""

    apiserver: ApiServer
    gate: Gate
    kubeconfig: Path
    """Of the gate's service account, with the rights that `deploy/rbac.yaml` gives it."""


@contextmanager
def guarded(  # noqa: PLR0913  Each is what some folder of tests varies.
    apiserver: ApiServer,
    folder: Path,
    install: Callable[[Client], Awaitable[str]],
    settings: Mapping[str, str] | None = None,
    *,
    only: Collection[str] = (),
    leftovers: Iterable[Json] = (),
) -> Iterator[Installation]:
    """Run a gate, its log in `folder`, that the kube-apiserver asks while the context lasts.

    `install` gives the token of the gate's account; `only` names the webhooks that are registered,
    all without it; `leftovers` are deleted once nobody asks the gate any more. Whatever fails, what
    was begun is ended.
    """
    with asyncio.Runner() as runner, ExitStack() as ends:

        def enter(context: AbstractAsyncContextManager[T]) -> T:
            value = runner.run(_awaited(context.__aenter__()))
            ends.callback(lambda: runner.run(_awaited(context.__aexit__(None, None, None))))
            return value

        client = enter(connect(apiserver))
        token = runner.run(_awaited(install(client)))
        for item in reversed(list(leftovers)):  # The last one that is put here ends first.
            ends.callback(_take_away, runner, client, item)
        kubeconfig = apiserver.kubeconfig_for_token("sallyport-gate", token)
        gate = Gate(folder, apiserver.authority, kubeconfig, settings)
        ends.callback(gate.stop)
        enter(registered(client, gate.url, apiserver.authority.pem, only))
        yield Installation(apiserver, gate, kubeconfig)


@contextmanager
def guarded_with_controllers(
    folders: Callable[[str], Path],
    install: Callable[[Client], Awaitable[str]],
    controllers: Iterable[str],
) -> Iterator[Installation]:
    """Run a cluster of its own that asks a gate, with these of Kubernetes' controllers.

    `folders` makes a new folder of a name.
    """
    for program in ("etcd", "kube-apiserver", "kube-controller-manager"):
        require(program)
    with ExitStack() as ends:
        apiserver = ApiServer(folders("apiserver"))
        ends.callback(apiserver.stop)
        found = ends.enter_context(guarded(apiserver, folders("gate"), install))
        ends.callback(ControllerManager(folders("controllers"), apiserver, *controllers).stop)
        yield found


async def _awaited(work: Awaitable[T]) -> T:
    return await work


def _take_away(runner: asyncio.Runner, client: Client, item: Json) -> None:
    runner.run(client.delete(item))
