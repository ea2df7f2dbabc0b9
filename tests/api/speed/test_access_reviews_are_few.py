"""How many access reviews the gate asks of a real kube-apiserver: counts, never times."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from bench.load import ReviewClient, review_client
from bench.profiles import SORTS, ReviewSort, TeamReviews, access_reviews, install
from bench.reviews import GANG
from tests.harness.programs.apiserver import ApiServer, own_apiserver
from tests.harness.programs.client import connect
from tests.harness.programs.gate import Gate

TEAMS = 60
ADVICE = 8
PLAIN, OWN, SHARED, REFUSED = SORTS


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A kube-apiserver of this module's own."""
    with own_apiserver(tmp_path_factory.mktemp("apiserver")) as server:
        yield server


class Asked:
    """A gate beside it with the profiles of 60 teams, and what it has asked."""

    def __init__(self, client: ReviewClient, gate: Gate) -> None:
        self._client = client
        self._gate = gate

    async def count(self, *reviews: bytes) -> list[int]:
        """Send reviews; give for each how many access reviews it took."""
        counts = []
        for review in reviews:
            before = self._so_far()
            _, answer = await self._client.ask(review)
            assert b'"verdict":"error"' not in answer
            counts.append(self._so_far() - before)
        return counts

    def _so_far(self) -> int:
        return int(access_reviews(self._gate.status("/metrics")[1]))


@pytest.fixture
async def asked(cluster: ApiServer, tmp_path: Path) -> AsyncIterator[Asked]:
    """A gate that has asked nothing yet, and believes for as long as can be set."""
    async with connect(cluster) as client:
        await install(client, TEAMS)
    believe = {"SALLYPORT_ACCESS__ALLOW_AGE": "300", "SALLYPORT_ACCESS__DENY_AGE": "60"}
    gate = Gate(tmp_path, cluster.authority, cluster.kubeconfig(), believe, strangers=True)
    try:
        async with review_client(gate.port, cluster.authority.certificate_path) as asker:
            yield Asked(asker, gate)
    finally:
        gate.stop()


async def test_a_gang_asks_once(asked: Asked) -> None:
    """Its Pods stand on one service account: the first asks, the others remember."""
    counts = await asked.count(*(GANG.review(number) for number in range(64)))
    assert counts == [1] + [0] * 63


@pytest.mark.parametrize("sort", [PLAIN, OWN], ids=["what all have", "its own team's"])
async def test_an_ordinary_pod_asks_once_however_many_profiles_there_are(
    sort: ReviewSort, asked: Asked
) -> None:
    """About the first profile that covers it, which its requester may use."""
    reviews = TeamReviews(TEAMS)
    counts = await asked.count(*(reviews.make(sort, subject) for subject in range(20)))
    assert counts == [1] * 20


async def test_what_is_asked_is_bounded_by_the_profiles_that_cover(asked: Asked) -> None:
    """Two of the 60 have the capability, and pss-privileged is not installed."""
    counts = await asked.count(*(TeamReviews(TEAMS).make(SHARED, team) for team in (0, 30)))
    assert counts == [1, 2]


async def test_a_refusal_asks_about_the_nearest_few(asked: Asked) -> None:
    """No profile covers it; the nearest eight are asked about to word the refusal, once."""
    review = TeamReviews(TEAMS).make(REFUSED, 7)
    assert await asked.count(review, review) == [ADVICE, 0]
