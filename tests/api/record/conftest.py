"""A cluster of this folder's own: the chart, its processes, and webhooks that fail closed."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tests.api.record.installation import Installation, installed
from tests.harness.programs.client import Client, Json, connect
from tests.harness.programs.helm import Helm
from tests.harness.worlds import rbac
from tests.harness.worlds.pods import RESTRICTED

TRAIN = "train"
EARLIER = "earlier"
"""A Pod that nobody may run, created before there was anyone to refuse it."""


def pod(name: str, **spec: Any) -> Json:
    """Return a Pod that needs nothing but what `spec` adds."""
    made = RESTRICTED.pod()
    made["metadata"] = {"name": name, "namespace": TRAIN}
    made["spec"] |= spec
    return made


@pytest.fixture(scope="package")
def installation(tmp_path_factory: pytest.TempPathFactory, helm: Helm) -> Iterator[Installation]:
    """Everything installed and running, as docs/operate/chart.md says."""
    with installed(tmp_path_factory.mktemp, helm, _prepare) as made:
        yield made


async def _prepare(client: Client) -> None:
    await client.create_namespace(TRAIN)
    makes_pods = rbac.rule([""], "pods pods/ephemeralcontainers", "create patch")
    await client.apply(rbac.grant("makes-pods", makes_pods, rbac.user("alice"), namespace=TRAIN))
    await client.create(pod(EARLIER, hostNetwork=True))


@pytest.fixture
async def admin(installation: Installation) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`)."""
    async with connect(installation.apiserver) as client:
        yield client
