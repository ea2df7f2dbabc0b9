"""Ledgers of the releases before, made by their own steps and written past the store."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from audit.ledger.store import adoption
from core.decision.document import encode_document
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS, document

MIGRATIONS = Path(adoption.__file__).parent / "migrations"
DAY = NOW_MS // 86_400_000

_DECISION = """
INSERT INTO decisions (cluster, id, time_ms, day, source, verdict, allowed, namespace, kind, name,
operation, requester, mode, object_uid, request_uid, dry_run, policy_revision, profiles_revision,
projection, document) VALUES (:cluster, :id, :time, :day, 'validate', 'allow', :yes, 'train',
'Pod', 'a', 'CREATE', 'somebody', 'enforce', '', '', :no, '', '', '', :document)
"""


def engine_of(url: str) -> sa.Engine:
    """Reach the database past the store."""
    return sa.create_engine(url)


def make_former(url: str, revision: str = "0002") -> None:
    """Make a ledger as the release before, or one before that, made it."""
    engine = engine_of(url)
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()


def write_former(url: str, first: int, count: int) -> None:
    """Write decisions, and a frame that it could not read, as the release before wrote them."""
    engine = engine_of(url)
    as_bytes = engine.dialect.name != "postgresql"
    with engine.begin() as connection:
        if not as_bytes:
            part = "CREATE TABLE IF NOT EXISTS decisions_20261121 PARTITION OF decisions "
            connection.execute(sa.text(f"{part} FOR VALUES FROM ({DAY}) TO ({DAY + 1})"))
        for number in range(first, first + count):
            made = document(NOW_MS + number)
            identity = bytes.fromhex(made.id.replace("-", ""))
            values = {
                "cluster": CLUSTER,
                "id": identity if as_bytes else made.id,
                "time": NOW_MS + number,
                "day": DAY,
                "yes": True,
                "no": False,
                "document": encode_document(made),
            }
            connection.execute(sa.text(_DECISION), values)
        connection.execute(
            sa.text(
                "INSERT INTO quarantine (cluster, digest, day, kind, frame_id, payload, reason) "
                "VALUES (:cluster, :digest, 20000, 42, :id, :payload, 'no such kind')"
            ),
            {
                "cluster": CLUSTER,
                "digest": bytes([first]) * 32,
                "id": bytes([first]),
                "payload": b"{",
            },
        )
    engine.dispose()
