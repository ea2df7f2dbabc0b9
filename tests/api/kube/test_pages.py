"""Lists longer than a page are read whole."""

from collections.abc import Mapping

from core.base.background import in_background
from core.decision.namespaces import Namespace
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.resources.namespaces import parse_namespace
from kube.resources.paths import NAMESPACES_PATH
from kube.watch.listwatch import ListWatch, Resource
from tests.api.kube.objects import new_name, wait_for
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client


async def test_a_list_of_many_pages_is_complete(client: Client, apiserver: ApiServer) -> None:
    """With two objects a page, all are there, in one list, and nothing is told twice."""
    names = {new_name("page") for _ in range(7)}
    for name in sorted(names):
        await client.create_namespace(name)
    told: list[Mapping[str, Namespace]] = []
    connection = Connection(apiserver.kubeconfig())
    await connection.open()
    namespaces = ListWatch(
        connection,
        Resource("Namespaces", NAMESPACES_PATH, parse_namespace),
        told.append,
        LiveSettings(page_size=2),
    )
    async with in_background(namespaces.run()):
        await wait_for(lambda: not namespaces.problem, 60)
        assert names | {"default"} <= namespaces.objects.keys()
        assert (namespaces.lists, len(told)) == (1, 1)
        await connection.close()
