"""Finds what acts between the ledger and its tables: triggers, rules, policies, views.

No release makes any of them. They change what is stored, or hide it from those who read, and leave
no trace in any row.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import sqlalchemy as sa

from audit.ledger.log.problems import Flaw, Problem, make_row_problem

_SQLITE: Final = sa.text(
    "SELECT type, name, tbl_name FROM sqlite_master WHERE type IN ('trigger', 'view') ORDER BY name"
)

_POSTGRES: Final = sa.text(
    """
    WITH named AS (
      SELECT to_regclass(name)::oid AS oid, name FROM unnest(CAST(:names AS text[])) AS name
    ),
    ours AS (
      SELECT oid, name FROM named
      UNION SELECT i.inhrelid, named.name FROM pg_inherits i JOIN named ON named.oid = i.inhparent
    )
    SELECT 'trigger', t.tgname::text, ours.name
      FROM pg_trigger t JOIN ours ON ours.oid = t.tgrelid WHERE NOT t.tgisinternal
    UNION SELECT 'rule', r.rulename::text, ours.name
      FROM pg_rewrite r JOIN ours ON ours.oid = r.ev_class WHERE r.rulename <> '_RETURN'
    UNION SELECT 'policy', p.polname::text, ours.name
      FROM pg_policy p JOIN ours ON ours.oid = p.polrelid
    UNION SELECT 'view', c.relname::text, ours.name
      FROM pg_class c JOIN ours ON ours.oid = c.oid WHERE c.relkind IN ('v', 'm', 'f')
    ORDER BY 1, 2, 3
    """
)

_MOST: Final = 20


def find_triggers(connection: sa.Connection, tables: Sequence[str]) -> Iterator[Problem]:
    """Say what stands between the ledger and these tables of its."""
    if connection.dialect.name == "sqlite":
        rows = connection.execute(_SQLITE)
    else:
        rows = connection.execute(_POSTGRES, {"names": list(tables)})
    for kind, name, table in rows.fetchmany(_MOST):
        if kind != "view" or name in tables:
            says = f"the database has the {kind} {name} on {table}"
            yield make_row_problem(Flaw.TRIGGER, says, None, table)
