"""Looking back ends, whatever the identity that is looked back on has done."""

from http import HTTPStatus
from typing import Any, cast

import pytest

from audit.ledger.server.acts_protocol import FORMAT, ActsPage
from control.risk.look_back import search as module
from control.risk.look_back.search import Sources, look_back
from core.base.errors import ClusterError
from core.base.ids import uuid7
from core.risk.look_back import LookBackDocument
from core.risk.model import Standing, identity_key
from identity.look_back.subjects import IdentityAtRisk, labels_of
from kube.client.objects import Objects

NOW = 1_795_334_400
KEY = identity_key("00000000-0000-4000-8000-00000000000a")
RISEN = IdentityAtRisk(KEY, labels_of(KEY), Standing.HIGH, NOW - 60, NOW - 86_400)


class Empty:
    """A cluster in which there is nothing."""

    async def page(self, *_: Any, **__: Any) -> None:
        """Say that there is no such kind."""
        raise ClusterError("no such kind", HTTPStatus.NOT_FOUND)


class Refused:
    """A ledger full of decisions that let in nothing."""

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self.asked = 0

    async def page(self, *_: object) -> ActsPage:
        """Return a page without an act, and where the next one is, until there is none."""
        self.asked += 1
        return ActsPage(FORMAT, [], f"{self.asked:08}" if self.asked < self.pages else "")


async def looked(acts: Refused) -> LookBackDocument:
    """Look back on one identity."""
    sources = Sources(cast("Objects", Empty()), acts, "cluster")
    (document,) = await look_back(sources, [RISEN], lambda _: uuid7(NOW * 1000), float(NOW))
    return document


async def test_a_flood_of_refused_requests_keeps_nobody_from_being_looked_back_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So many pages are read, and the document says that there are more."""
    monkeypatch.setattr(module, "MOST_PAGES", 20)
    flood = Refused(10**9)
    document = await looked(flood)
    assert flood.asked == 20
    assert any("too many decisions" in gap for gap in document.gaps)


async def test_what_is_whole_has_no_gap() -> None:
    """The last page is told from the last one that is read."""
    document = await looked(Refused(2))
    assert document.gaps == []
