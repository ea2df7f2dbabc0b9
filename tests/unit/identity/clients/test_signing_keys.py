"""Security event tokens are verified by their issuer's keys alone, fetched over real HTTPS."""

import base64
import hashlib
import hmac
import json
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from identity.clients.signing_keys import SigningKeys, UnverifiedToken, VerifiedToken
from identity.push.security_events import MOST_BYTES
from tests.harness.fakes.event_transmitter import Transmitter, claims
from tests.unit.identity.clients.issuer import PERSON, public, refused, settings_of


async def test_what_the_issuer_signed_is_verified(
    transmitter: Transmitter, keys: SigningKeys
) -> None:
    """By each kind of key; the keys are fetched once."""
    said = claims(PERSON)
    for algorithm in ("RS256", "RS512", "PS256", "PS384"):
        token = transmitter.token(said, algorithm=algorithm)
        assert await keys.verify(token) == VerifiedToken(said)
    elliptic = transmitter.token(said, key=transmitter.ec, algorithm="ES256", header={"kid": "ec"})
    assert await keys.verify(elliptic) == VerifiedToken(said)
    typed = transmitter.token(said, header={"typ": "application/SecEvent+JWT"})
    assert await keys.verify(typed) == VerifiedToken(said)
    assert transmitter.asked == 1


async def test_edwards_curves_are_verified(transmitter: Transmitter, keys: SigningKeys) -> None:
    """RFC 8037."""
    key = ed25519.Ed25519PrivateKey.generate()
    transmitter.keys = [public(OKPAlgorithm, key, kid="ed")]
    token = transmitter.token(claims(PERSON), key=key, algorithm="EdDSA", header={"kid": "ed"})
    assert isinstance(await keys.verify(token), VerifiedToken)


async def test_a_token_that_names_no_key_is_tried_with_those_that_fit(
    transmitter: Transmitter, keys: SigningKeys
) -> None:
    """`kid` is optional (RFC 7515, 4.1.4)."""
    token = transmitter.token(claims(PERSON), header={"kid": None})
    assert isinstance(await keys.verify(token), VerifiedToken)


async def test_another_key_signs_nothing(transmitter: Transmitter, keys: SigningKeys) -> None:
    """Under the issuer's `kid`, without one, and with the key in the header, where it is not read.

    `jku` and `x5u` are not fetched: the only site that is asked is the issuer's.
    """
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    own = public(RSAAlgorithm, stranger, kid="rsa")
    for header in (
        {},
        {"kid": None},
        {"jwk": own},
        {"jku": "https://127.0.0.1:9/keys"},
        {"x5u": "https://127.0.0.1:9/chain", "x5c": ["MIIB"]},
    ):
        token = transmitter.token(claims(PERSON), key=stranger, header=header)
        assert (await refused(keys, token)).of_key


async def test_what_was_changed_is_not_verified(
    transmitter: Transmitter, keys: SigningKeys
) -> None:
    """Any of the three parts."""
    head, body, signature = transmitter.token(claims(PERSON)).split(b".")
    other = transmitter.token(claims(PERSON, jti="other"), header={"x": 1}).split(b".")
    for parts in ((other[0], body, signature), (head, other[1], signature), (head, body, other[2])):
        assert (await refused(keys, b".".join(parts))).of_key


def _signed_with_a_secret(header: dict[str, Any], said: dict[str, Any], secret: bytes) -> bytes:
    parts = [json.dumps(part).encode() for part in (header, said)]
    content = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    signature = hmac.new(secret, content, hashlib.sha256).digest()
    return content + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")


async def test_a_public_key_is_no_secret_to_sign_with(
    transmitter: Transmitter, keys: SigningKeys
) -> None:
    """The confusion of algorithms: HS256 with what everybody can fetch."""
    public_key = transmitter.rsa.public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    header = {"typ": "secevent+jwt", "kid": "rsa", "alg": "HS256"}
    for secret in (
        public_key.public_bytes(serialization.Encoding.PEM, form),
        public_key.public_bytes(serialization.Encoding.DER, form),
        json.dumps(transmitter.keys[0]).encode(),
        b"",
    ):
        token = _signed_with_a_secret(header, claims(PERSON), secret)
        assert (await refused(keys, token)).of_key
    named = _signed_with_a_secret({**header, "alg": "RS256"}, claims(PERSON), b"secret")
    assert (await refused(keys, named)).of_key


@pytest.mark.parametrize(
    "algorithm", ["none", "None", "NONE", "HS256", "RS1", "", None, 7, ["RS256"]]
)
async def test_an_algorithm_that_is_not_listed_is_refused(
    transmitter: Transmitter, keys: SigningKeys, algorithm: Any
) -> None:
    """Unsigned tokens first of all; the keys are not even asked for."""
    header = {"typ": "secevent+jwt", "alg": algorithm}
    token = _signed_with_a_secret(header, claims(PERSON), b"")
    assert (await refused(keys, token)).of_key
    assert (await refused(keys, token.rpartition(b".")[0] + b".")).of_key
    assert transmitter.asked == 0


async def test_a_key_signs_only_by_its_own_algorithm(
    transmitter: Transmitter, keys: SigningKeys
) -> None:
    """One that is published for RS256 verifies no PS256, and an EC key no RS256."""
    transmitter.keys[0]["alg"] = "RS256"
    token = transmitter.token(claims(PERSON), algorithm="PS256")
    assert (await refused(keys, token)).of_key
    crossed = transmitter.token(claims(PERSON), header={"kid": "ec"})
    assert (await refused(keys, crossed)).of_key
    assert transmitter.asked == 1, "it is known; to ask again would not help"


async def test_keys_that_may_not_sign_are_not_used(
    transmitter: Transmitter, keys: SigningKeys
) -> None:
    """For encryption, shared, private, too short, or on another curve."""
    short = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505  Refused.
    curve = ec.generate_private_key(ec.SECP384R1())
    rsa_key, token = transmitter.keys[0], transmitter.token(claims(PERSON))
    private = json.loads(RSAAlgorithm.to_jwk(transmitter.rsa))
    none, wrong = "the issuer has no such key", "the signature is wrong"
    for published, text in (
        ({**rsa_key, "use": "enc"}, none),
        ({**rsa_key, "key_ops": ["encrypt"]}, none),
        ({**rsa_key, "key_ops": "verify"}, none),
        ({**rsa_key, "kid": ["rsa"]}, none),
        ({**rsa_key, "kty": "oct", "k": "c2VjcmV0"}, none),
        ({**private, "kid": "rsa"}, none),
        ({**private, "kid": "rsa", "key_ops": ["sign", "verify"]}, none),
        ({**rsa_key, "n": "AQAB"}, wrong),
        ({**rsa_key, "n": 7}, wrong),
    ):
        transmitter.keys = [published]
        fresh = SigningKeys(settings_of(transmitter))
        assert await refused(fresh, token) == UnverifiedToken(text, of_key=True)
        await fresh.close()
    transmitter.keys = [public(RSAAlgorithm, short, kid="s"), public(ECAlgorithm, curve, kid="c")]
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        weak = transmitter.token(claims(PERSON), key=short, header={"kid": "s"})
    assert (await refused(keys, weak)).of_key
    header = {"alg": "ES256", "typ": "secevent+jwt", "kid": "c"}
    assert (await refused(keys, _signed_with_a_secret(header, claims(PERSON), b""))).of_key


@pytest.mark.parametrize(
    "header",
    [
        {"typ": "JWT"},
        {"typ": "at+jwt"},
        {"typ": None},
        {"typ": 7},
        {"kid": 7},
        {"kid": ["rsa"]},
        {"crit": ["exp"], "exp": 1},
        {"b64": False, "crit": ["b64"]},
    ],
)
async def test_another_sort_of_token_is_no_event(keys: SigningKeys, header: dict[str, Any]) -> None:
    """An access token that the same issuer signed must not pass (RFC 8417, 2.3)."""
    made = {"typ": "secevent+jwt", "kid": "rsa", "alg": "RS256", **header}
    token = _signed_with_a_secret(made, claims(PERSON), b"x")
    assert not (await refused(keys, token)).of_key


@pytest.mark.parametrize(
    "kid", ["../../etc/passwd", "rsa\x00", "' OR 1=1", "https://x/", "x" * 9999]
)
async def test_a_key_id_is_a_name_and_nothing_else(
    transmitter: Transmitter, keys: SigningKeys, kid: str
) -> None:
    """No path, no address, no query: it is only compared."""
    found = await refused(keys, transmitter.token(claims(PERSON), header={"kid": kid}))
    assert (found.text, found.of_key) == ("the issuer has no such key", True)


@pytest.mark.parametrize(
    "token",
    [
        b"",
        b".",
        b"..",
        b"a.b",
        b"a.b.c.d",
        b"\xff.\xff.\xff",
        b"e30.e30.",
        b'{"typ":"secevent+jwt"}.e30.x',
        b"e30=.e30.x",
        base64.urlsafe_b64encode(b'{"alg":"RS256","alg":"none","typ":"secevent+jwt"}') + b".e30.x",
        base64.urlsafe_b64encode(b"[" * 30_000).rstrip(b"=") + b".e30.x",
        b"a" * (MOST_BYTES + 1) + b".b.c",
    ],
    ids=range(12),
)
async def test_what_is_no_token_is_refused(keys: SigningKeys, token: bytes) -> None:
    """As malformed; no header that could be read in two ways is read."""
    assert not (await refused(keys, token)).of_key


async def test_claims_in_which_a_name_stands_twice_are_refused(
    transmitter: Transmitter, keys: SigningKeys
) -> None:
    """Although the issuer signed them."""
    twice = b'{"iss":"a","iss":"b"}'
    header = {"typ": "secevent+jwt", "kid": "rsa"}
    token = jwt.PyJWS().encode(twice, transmitter.rsa, "RS256", header).encode()
    assert not (await refused(keys, token)).of_key
