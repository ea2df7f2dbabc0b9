"""Each question that people ask often is answered from an index, not by reading everything."""

import re
from typing import Any

import pytest
import sqlalchemy as sa

from audit.ledger.store.decisions import DecisionQuery
from audit.ledger.store.store import Store
from core.decision.decision import Verdict
from tests.unit.audit.ledger.store.busy_cluster import BUSIEST, QUIET, crowd
from tests.unit.audit.ledger.store.conftest import Sql
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS

DAY_MS = 86_400_000
DENIALS = frozenset({Verdict.DENY})
QUESTIONS = {
    "denials in a namespace": (
        DecisionQuery(namespace=BUSIEST, verdicts=DENIALS, since_ms=NOW_MS - DAY_MS),
        "notable_namespace",
    ),
    "what happens in a namespace": (DecisionQuery(namespace=QUIET), "namespace"),
    "denials": (DecisionQuery(verdicts=DENIALS), "notable"),
    "who asked": (DecisionQuery(requesters=("user:x",)), "requester"),
    "a name": (DecisionQuery(name="job-0000001-worker-3"), "name"),
    "an object": (DecisionQuery(object_uid="x"), "object_uid"),
    "a rule": (DecisionQuery(rule="site/x"), "rules"),
    "the newest": (DecisionQuery(), "pkey"),
    "the newest of a cluster": (DecisionQuery(cluster=CLUSTER), "pkey"),
}
SQLITE_NAMES = {"rules": "PRIMARY KEY", "pkey": "sqlite_autoindex_decisions"}


@pytest.mark.parametrize(("query", "index"), QUESTIONS.values(), ids=list(QUESTIONS))
async def test_question_has_its_index(
    store: Store, sql: Sql, url: str, query: DecisionQuery, index: str
) -> None:
    """Neither a scan of the table nor a sort of what was found."""
    for frames in crowd(6000, NOW_MS - 2 * DAY_MS, NOW_MS):
        await store.deliver(CLUSTER, frames)
    sqlite = url.startswith("sqlite")
    if not sqlite:
        sql("ANALYZE")
    plan = "\n".join(await _plan(store, query))
    if sqlite:
        assert SQLITE_NAMES.get(index, f"INDEX decisions_{index} ") in plan, plan
        assert "TEMP B-TREE" not in plan, plan
        assert not re.search(r"SCAN (decisions|rules)\b(?! USING INDEX)", plan), plan
    else:
        assert "Seq Scan on decisions" not in plan, plan


async def _plan(store: Store, query: DecisionQuery) -> list[str]:
    """Return how the database answers what the store asks it."""
    asked: list[tuple[str, Any]] = []

    def note(_: object, __: object, statement: str, parameters: Any, *___: object) -> None:
        asked.append((statement, parameters))

    engine = store._backend.engine  # noqa: SLF001
    sa.event.listen(engine, "before_cursor_execute", note)
    await store.find(query)
    sa.event.remove(engine, "before_cursor_execute", note)
    statement, parameters = next(each for each in asked if each[0].startswith("SELECT"))
    word = "EXPLAIN QUERY PLAN" if engine.dialect.name == "sqlite" else "EXPLAIN"
    with engine.connect() as connection:
        ran = connection.exec_driver_sql(f"{word} {statement}", parameters)
        return [str(row[-1]) for row in ran]
