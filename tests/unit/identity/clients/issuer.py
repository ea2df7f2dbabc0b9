"""An issuer's keys for tests: settings, a clock, and the demand that a token is refused."""

import json
from pathlib import Path
from typing import Any, Final

from identity.clients.signing_keys import SigningKeys, UnverifiedToken
from identity.push.security_events import SecurityEventSettings
from tests.harness.fakes.event_transmitter import AUDIENCE, ISSUER, Transmitter

PERSON: Final = "51e26eae-d07b-44e5-bb0b-249f49569a8c"


class Clock:
    """Seconds that a test lets pass."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Return them."""
        return self.now


def settings_of(transmitter: Transmitter, trust: Path | None = None) -> SecurityEventSettings:
    """Return settings for an issuer."""
    ca = trust or transmitter.authority.certificate_path
    return SecurityEventSettings(ISSUER, AUDIENCE, transmitter.keys_url, trust=ca)


def public(algorithm: Any, key: Any, **more: Any) -> dict[str, Any]:
    """Return a public key as JSON."""
    return {**json.loads(algorithm.to_jwk(key.public_key())), **more}


async def refused(keys: SigningKeys, token: bytes) -> UnverifiedToken:
    """Demand that a token is not verified, and that nothing of it is quoted."""
    found = await keys.verify(token)
    assert isinstance(found, UnverifiedToken), found
    assert PERSON not in found.text
    return found
