"""PostgreSQL's URL in the forms that others write, and a password for each new connection."""

import asyncio
from pathlib import Path

import pytest

from audit.ledger.store import database
from audit.ledger.store.store import Store
from core.base.errors import LedgerError, SettingsError
from tests.harness.programs.pki import Authority
from tests.harness.programs.postgres import Postgres, require_postgres
from tests.unit.audit.ledger.store.documents import CLUSTER, document, frame


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
async def test_the_url_may_be_libpqs(postgres: Postgres, scheme: str) -> None:
    """As CloudNativePG's Secrets have it in `uri`."""
    name = postgres.new_database()
    url = postgres.url(name).replace("postgresql+psycopg", scheme)
    async with Store(url) as store:
        assert (await store.deliver(CLUSTER, [frame(document())])).stored == 1
    postgres.drop_database(name)


async def test_the_host_that_can_be_written_is_taken(postgres: Postgres) -> None:
    """Of several in the URL, as libpq takes them."""
    name = postgres.new_database()
    hosts = f"127.0.0.1,localhost:{postgres.port}"
    url = postgres.url(name).replace(f"127.0.0.1:{postgres.port}", hosts)
    async with Store(f"{url}?target_session_attrs=read-write") as store:
        assert (await store.deliver(CLUSTER, [frame(document())])).stored == 1
    postgres.drop_database(name)


class Tokens:
    """Gives what PostgreSQL takes for a password at the moment."""

    def __init__(self, current: str) -> None:
        self.current = current
        self.given = 0

    async def __call__(self) -> str:
        """Give it, after a while, as a token comes."""
        await asyncio.sleep(0.01)
        self.given += 1
        return self.current


def without_password(server: Postgres) -> str:
    """Return the server's URL as it is where a token is the password."""
    return server.url().replace(f":{server.password}@", "@")


def certified(server: Postgres, folder: Path) -> Path:
    """Give the server a certificate; return that of its authority."""
    authority = Authority(folder)
    pair = authority.issue_loopback_server("postgres")
    server.serve_tls(pair.certificate.read_bytes(), pair.key.read_bytes())
    return authority.certificate_path


async def test_each_new_connection_has_the_password_of_its_time(tmp_path: Path) -> None:
    """A token that is over keeps nobody out; a server that comes back is connected anew."""
    server = Postgres(require_postgres())
    try:
        authority = certified(server, tmp_path)
        tokens = Tokens(server.password)
        url = f"{without_password(server)}?sslrootcert={authority}"
        async with Store(url, password=tokens) as store:
            assert (await store.deliver(CLUSTER, [frame(document())])).stored == 1
            assert tokens.given == 1
            with server.connect() as admin:
                admin.execute(b"ALTER ROLE sallyport PASSWORD 'the-next-token'")
            server.password = "the-next-token"
            assert (await store.deliver(CLUSTER, [frame(document())])).stored == 1
            server.crash()
            with pytest.raises(LedgerError):
                await store.deliver(CLUSTER, [frame(document())])
            server.start(server.port)
            with pytest.raises(LedgerError, match="password authentication failed") as refused:
                await store.open()
            assert tokens.current not in str(refused.value)
            tokens.current = server.password
            await store.open()
            assert (await store.deliver(CLUSTER, [frame(document())])).stored == 1
    finally:
        server.stop()


async def test_a_token_goes_to_no_server_that_is_not_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One without TLS, or of another authority, does not get it, whatever libpq's variables say."""
    monkeypatch.setenv("PGSSLMODE", "disable")
    other = tmp_path / "other"
    other.mkdir()
    server = Postgres(require_postgres())
    try:
        tokens = Tokens(server.password)
        url = f"{without_password(server)}?sslrootcert={Authority(other, 'x').certificate_path}"
        for says in ("does not support SSL", "certificate verify failed"):
            store = Store(url, password=tokens)
            with pytest.raises(LedgerError, match=says):
                await store.open()
            await store.close()
            certified(server, tmp_path)
    finally:
        server.stop()


@pytest.mark.parametrize(
    "mode", ["disable", "allow", "prefer", "require", "verify-ca", "verify-full&sslmode=disable"]
)
def test_a_url_that_verifies_no_server_takes_no_token(mode: str) -> None:
    """With what to say in its place."""
    with pytest.raises(SettingsError, match=r"ledger\.url: leave its sslmode out, or set verify-"):
        Store(f"postgresql://auditor@db.example/ledger?sslmode={mode}", password=Tokens("x"))


async def test_a_token_that_does_not_come_is_an_error(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever gives it says why; and nobody waits for ever."""
    monkeypatch.setattr(database, "PASSWORD_S", 0.2)

    async def refused() -> str:
        raise LedgerError("signing in for the ledger: AADSTS700016")

    async def never() -> str:
        await asyncio.sleep(60)
        return ""

    url = without_password(postgres)
    for password, says in ((refused, "AADSTS700016"), (never, "nobody gave a password")):
        store = Store(url, password=password)
        with pytest.raises(LedgerError, match=says):
            await store.open()
        await store.close()


def test_a_password_of_no_use_is_refused(postgres: Postgres) -> None:
    """SQLite takes none, and a URL with one would hide which counts."""
    tokens = Tokens("x")
    with pytest.raises(SettingsError, match=r"ledger\.sign_in: SQLite"):
        Store("sqlite:////tmp/ledger.db", password=tokens)
    with pytest.raises(SettingsError, match="leave its password out"):
        Store(postgres.url(), password=tokens)
