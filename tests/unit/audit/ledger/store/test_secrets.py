"""The password of the database stays where it was given."""

import logging

import pytest

from audit.ledger.records.frames import Frame
from audit.ledger.store.store import Store
from core.base.errors import LedgerError
from tests.harness.programs.ports import free_ports
from tests.harness.programs.postgres import Postgres
from tests.unit.audit.ledger.store.documents import CLUSTER, document, frame

SECRET = "hunter2hunter2"


@pytest.mark.parametrize("place", ["{user}:{secret}@{host}/x", "{user}@{host}/x?password={secret}"])
@pytest.mark.parametrize("listening", [True, False])
async def test_password_is_in_no_error_log_or_repr(
    postgres: Postgres, caplog: pytest.LogCaptureFixture, place: str, *, listening: bool
) -> None:
    """Whether the server refuses it or is not there, and wherever the URL has it."""
    caplog.set_level(logging.DEBUG)
    port = postgres.port if listening else free_ports(1)[0]
    where = place.format(user="sallyport", secret=SECRET, host=f"127.0.0.1:{port}")
    store = Store(f"postgresql+psycopg://{where}")
    with pytest.raises(LedgerError, match=rf"the ledger postgresql://127\.0\.0\.1:{port}/x: ") as e:
        await store.open()
    await store.close()
    told = f"{e.value!r} {e.value.__cause__!r} {store!r} {caplog.text}"
    assert e.value.__suppress_context__
    assert SECRET not in told
    assert ("password authentication failed" in told) is listening


async def test_values_of_a_row_are_in_no_error(store: Store, url: str) -> None:
    """What the database refuses is not quoted: the message names the table's trouble alone."""
    await store.deliver(CLUSTER, [frame(document())])
    await store._do(_spoil, store)  # noqa: SLF001 (there is no other way to break a table)
    made = frame(document(name="pod-of-project-x", requester="user:1234"))
    with pytest.raises(LedgerError) as raised:
        await store.deliver(CLUSTER, [made, Frame(9, b"x", b"y")])
    assert "project-x" not in str(raised.value)
    assert "1234" not in str(raised.value)


def _spoil(store: Store) -> None:
    with store._backend.engine.begin() as connection:  # noqa: SLF001
        connection.exec_driver_sql("DROP TABLE sweeps")
        connection.exec_driver_sql("DROP TABLE quarantine")
