"""The ledger of the settings: its URL, its signing key, and a store that is open for reading."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

from app.entra.tokens import token_for
from app.records.state_folder import state_folder
from app.settings.root import Settings
from audit.ledger.store.database import GetPassword
from audit.ledger.store.store import Store
from core.base.errors import LedgerError

_AZURE_SCOPE: Final = "https://ossrdbms-aad.database.windows.net/.default"
"""Of Azure Database for PostgreSQL: a token for it is a connection's password
(https://learn.microsoft.com/azure/postgresql/flexible-server/how-to-configure-sign-in-azure-ad-authentication).
"""


def ledger_url(settings: Settings) -> str:
    """Return the URL of the ledger: the setting's, else of the one that `sallyport run` keeps."""
    if settings.ledger.url is not None:
        return settings.ledger.url.get_secret_value()
    return f"sqlite:///{state_folder() / 'ledger.db'}"


def signing_key(settings: Settings) -> Path:
    """Return where the key lies that signs the ledger's heads."""
    return settings.ledger.signing_key or state_folder() / "ledger.key"


def ledger_password(settings: Settings, stack: AsyncExitStack) -> GetPassword | None:
    """Return what gives the passwords of connections; None where the URL has it.

    `stack` closes what it holds.

    Raises:
        SettingsError: the settings name nothing to sign in as.
    """
    if settings.ledger.sign_in == "url":
        return None
    token = token_for("signing in for the ledger", LedgerError, settings, stack)
    return partial(token, _AZURE_SCOPE)


def make_store(settings: Settings, stack: AsyncExitStack) -> Store:
    """Return the store of the settings, which is not open yet; `stack` closes what it signs in by.

    Raises:
        SettingsError: `ledger.url` is none, or there is nothing to sign in as.
    """
    return Store(
        ledger_url(settings),
        keep_days=settings.ledger.keep_days,
        password=ledger_password(settings, stack),
        packs=settings.ledger.compress,
    )


@asynccontextmanager
async def open_ledger(settings: Settings) -> AsyncIterator[Store]:
    """Open the ledger to read it; it is never made by asking.

    Raises:
        LedgerError: there is none, or it cannot be read.
        SettingsError: `ledger.url` is none.
    """
    async with AsyncExitStack() as stack:
        store = make_store(settings, stack)
        stack.push_async_callback(store.close)
        await store.open(make=False)
        yield store
