"""The ledger of the settings: its URL, its signing key, and a store that is open for reading."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from app.records.state_folder import state_folder
from app.settings.root import Settings
from audit.ledger.store.store import Store


def ledger_url(settings: Settings) -> str:
    """Return the URL of the ledger: the setting's, else of the one that `sallyport run` keeps."""
    if settings.ledger.url is not None:
        return settings.ledger.url.get_secret_value()
    return f"sqlite:///{state_folder() / 'ledger.db'}"


def signing_key(settings: Settings) -> Path:
    """Return where the key lies that signs the ledger's heads."""
    return settings.ledger.signing_key or state_folder() / "ledger.key"


@asynccontextmanager
async def open_ledger(settings: Settings) -> AsyncIterator[Store]:
    """Open the ledger to read it; it is never made by asking.

    Raises:
        LedgerError: there is none, or it cannot be read.
        SettingsError: `ledger.url` is none.
    """
    store = Store(ledger_url(settings), keep_days=settings.ledger.keep_days)
    try:
        await store.open(make=False)
        yield store
    finally:
        await store.close()
