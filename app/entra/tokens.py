"""Tokens of Entra ID for other clients: a failed sign-in is the client's own error."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from app.settings.root import Settings
from core.base.errors import EntraError, SallyportError

GetToken = Callable[[str], Awaitable[str]]
"""Gives a token for a scope."""


def token_for(
    what: str, raised: type[SallyportError], settings: Settings, stack: AsyncExitStack
) -> GetToken:
    """Return what signs in as the settings say, and raises `raised` where it cannot.

    `stack` closes what it holds.

    Raises:
        SettingsError: the settings name nothing to sign in as.
    """
    from app.entra.clients import federated_token, sign_in_of  # noqa: PLC0415 (only who signs in)
    from identity.clients.tokens import Tokens  # noqa: PLC0415 (only who signs in)

    tokens = Tokens(sign_in_of(settings.identity, federated_token()))
    stack.callback(tokens.close)

    async def get(scope: str) -> str:
        try:
            return await tokens.get(scope)
        except EntraError as error:
            raise raised(f"{what}: {error}") from None

    return get
