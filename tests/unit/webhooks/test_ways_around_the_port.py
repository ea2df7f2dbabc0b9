"""Ways to be taken for kube-apiserver at the gate's port, or to have a review read as another."""

import asyncio
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import NameOID

from core.decision.decision import Decision
from core.decision.request import Request
from tests.harness.programs.pki import Authority, KeyPair
from tests.unit.webhooks.connection import Answer, Connection
from tests.unit.webhooks.gate import running_gate
from tests.unit.webhooks.judge import PrivilegedJudge
from tests.unit.webhooks.reviews import encode, review
from tests.unit.webhooks.test_client_certificates import REFUSED, authority, connect_as, post_as
from webhooks.limits import AppSettings
from webhooks.review_decoder import decode_review

GOOD: Final = encode(review())
KNOWN: Final = "kube-apiserver"


@dataclass
class Listener(PrivilegedJudge):
    """Keeps what it is asked."""

    asked: list[Request] = field(default_factory=list)

    async def validate(self, request: Request, *, budget: float) -> Decision:
        """Keep it, and answer."""
        self.asked.append(request)
        return await super().validate(request, budget=budget)


HEADERS: Final = {
    "of a front proxy": f"X-Remote-User: {KNOWN}\r\nX-Remote-Group: system:masters\r\n",
    "of impersonation": f"Impersonate-User: {KNOWN}\r\nImpersonate-Group: system:masters\r\n",
    "of a mesh": f'X-Forwarded-Client-Cert: Subject="CN={KNOWN}"\r\nX-Verify: SUCCESS\r\n',
    "of a proxy": "X-Forwarded-For: 127.0.0.1\r\nForwarded: for=127.0.0.1;proto=https\r\n",
    "a bearer token": "Authorization: Bearer eyJhbGciOiJub25lIn0.e30.\r\n",
}


@pytest.mark.parametrize("headers", HEADERS.values(), ids=HEADERS)
async def test_headers_make_nobody_known(tmp_path: Path, headers: str) -> None:
    """Wants the long answer of an authenticated caller, by saying that somebody checked."""
    judge = Listener()
    async with running_gate(tmp_path, judge) as gate:
        answer = await gate.post("/validate", GOOD, headers)
    assert answer.status == 200
    assert [each.authenticated for each in judge.asked] == [False]


CLAIMS: Final[dict[str, Callable[[dict[str, Any]], None]]] = {
    "in the review": lambda made: made.update(authenticated=True, callerKnown=True),
    "in the request": lambda made: made["request"].update(authenticated=True, callerKnown=True),
    "in the user": lambda made: made["request"]["userInfo"].update(authenticated=True),
    "a phase": lambda made: made["request"].update(phase="mutating", running=True),
    "a profile that is asked for": lambda made: made["request"].update(asked_profile="wide"),
    "groups of masters": lambda made: made["request"]["userInfo"].update(
        username="system:apiserver", groups=["system:masters"]
    ),
}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_nothing_in_a_body_makes_its_sender_known(claim: Callable[[dict[str, Any]], None]) -> None:
    """Wants fields of the gate's own request set by those of the review."""
    made = review()
    claim(made)
    ordinary, asked = decode_review(GOOD), decode_review(encode(made))
    assert not asked.authenticated
    for name in ("phase", "running", "asked_profile"):
        assert getattr(asked, name) == getattr(ordinary, name)


def test_a_review_with_a_key_twice_is_read_once() -> None:
    """Wants the name of one user judged, and that of another recorded."""
    both = [
        json.dumps({"userInfo": {"username": name}})[1:-1] for name in ("alice", "system:admin")
    ]
    uid = b'"uid": "705ab4f5'
    asked = decode_review(GOOD.replace(uid, ", ".join(both).encode() + b", " + uid, 1))
    assert asked.subject.username == decode_review(GOOD).subject.username


def raw(head: str, body: bytes = GOOD) -> bytes:
    """Return a request whose head is as it is given."""
    return f"{head}\r\n\r\n".replace("\n", "\r\n").replace("\r\r", "\r").encode() + body


LENGTH: Final = len(GOOD)
JSON: Final = "Host: gate\nContent-Type: application/json"
CHUNKED: Final = "Transfer-Encoding: chunked"

HEADS: Final = {
    "two lengths": f"POST /validate HTTP/1.1\n{JSON}\nContent-Length: {LENGTH}\nContent-Length: 5",
    "a list of lengths": f"POST /validate HTTP/1.1\n{JSON}\nContent-Length: {LENGTH}, {LENGTH}",
    "a signed length": f"POST /validate HTTP/1.1\n{JSON}\nContent-Length: +{LENGTH}",
    "a length in hex": f"POST /validate HTTP/1.1\n{JSON}\nContent-Length: {LENGTH:#x}",
    "length and chunks": f"POST /validate HTTP/1.1\n{JSON}\nContent-Length: 4\n{CHUNKED}",
    "chunks that are not last": f"POST /validate HTTP/1.1\n{JSON}\n{CHUNKED}, identity",
    "chunks by another name": f"POST /validate HTTP/1.1\n{JSON}\nTransfer-Encoding: xchunked",
    "a space before the colon": f"POST /validate HTTP/1.1\n{JSON}\nContent-Length : {LENGTH}",
    "a line without a name": f"POST /validate HTTP/1.1\n{JSON}\n: {LENGTH}",
    "a NUL": f"POST /validate HTTP/1.1\n{JSON}\nX: a\0b\nContent-Length: {LENGTH}",
    "another protocol": f"POST /validate HTTP/3.9\n{JSON}\nContent-Length: {LENGTH}",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
async def test_a_head_that_two_readers_read_differently(tmp_path: Path, head: str) -> None:
    """Wants a second review smuggled into the first one's body, or its end into the next head."""
    judge = Listener()
    async with running_gate(tmp_path, judge) as gate:
        connection = await gate.connect()
        connection.writer.write(raw(head) + raw(head))
        said = await asyncio.wait_for(connection.reader.read(), 5)
        await connection.close()
    assert said.count(b"HTTP/1.1 ") == 1
    assert said.startswith(b"HTTP/1.1 4")
    assert not judge.asked


PATHS: Final = (
    "//validate",
    "/validate/",
    "/validate/../mutate",
    "/%76alidate",
    "/VALIDATE",
    "/mutate%00",
    "/mutate;/validate",
)


@pytest.mark.parametrize("path", PATHS)
async def test_a_path_that_is_nearly_one(tmp_path: Path, path: str) -> None:
    """Wants a path that a proxy before the gate lets by and the gate takes for another."""
    judge = Listener()
    async with running_gate(tmp_path, judge) as gate:
        answer = await gate.post(path, GOOD)
    assert (answer.status, judge.asked) == (404, [])


async def test_two_reviews_at_once_get_their_own_answers(tmp_path: Path) -> None:
    """Wants the answer to a harmless review taken for that to another, by sending both at once."""
    uids = [f"705ab4f5-6393-11e8-b7cc-42010a80000{number}" for number in range(8)]
    bodies = [encode(review(uid=uid, bad=number % 2 == 0)) for number, uid in enumerate(uids)]
    head = f"POST /validate HTTP/1.1\n{JSON}\nContent-Length: "
    async with running_gate(tmp_path) as gate:
        connection = await gate.connect()
        connection.writer.write(b"".join(raw(f"{head}{len(each)}", each) for each in bodies))
        answers = [(await connection.read_answer()).response for _ in bodies]
        await connection.close()
    assert [(each["uid"], each["allowed"]) for each in answers] == [
        (uid, number % 2 == 1) for number, uid in enumerate(uids)
    ]


async def test_a_compressed_review_is_not_unpacked(tmp_path: Path) -> None:
    """Wants a gigabyte read for a megabyte that is sent."""
    packed = gzip.compress(b'{"request":' + b"[" * 50_000_000)
    async with running_gate(tmp_path) as gate:
        answer = await gate.post("/validate", packed, "Content-Encoding: gzip\r\n")
    assert answer.status == 400


async def test_a_connection_does_not_change_what_it_speaks(tmp_path: Path) -> None:
    """Wants to leave HTTP/1.1, where the bounds are, by an upgrade."""
    upgrade = "Connection: Upgrade\r\nUpgrade: {}\r\n"
    async with running_gate(tmp_path) as gate:
        for to in ("h2c", "websocket"):
            answer = await gate.post("/validate", GOOD, upgrade.format(to))
            assert answer.status in {200, 400}
            assert "upgrade" not in answer.headers


def certificate(of: Authority, folder: Path, **names: str) -> KeyPair:
    """Return a client certificate of a CA, with names where they usually do not stand."""
    places = {"o": NameOID.ORGANIZATION_NAME, "ou": NameOID.ORGANIZATIONAL_UNIT_NAME}
    pair = of.issue_client(names.get("cn", "alice"), names.get("uri", "spiffe://cluster/alice"))
    made = [x509.NameAttribute(places[each], names[each]) for each in places if each in names]
    if not made:
        return pair
    key = serialization.load_pem_private_key(pair.key.read_bytes(), None)
    subject = x509.Name([*made, x509.NameAttribute(NameOID.COMMON_NAME, "alice")])
    content = of._sign(subject, key, x509.BasicConstraints(False, None), [])  # type: ignore[arg-type]  # noqa: SLF001, FBT003
    file = folder / "odd.crt"
    file.write_bytes(content)
    return KeyPair(file, pair.key)


NAMES: Final[dict[str, dict[str, str]]] = {
    "in the organisation": {"o": KNOWN},
    "in the unit": {"ou": KNOWN},
    "with more behind it": {"cn": f"{KNOWN}.example.com"},
    "with a NUL behind it": {"uri": f"{KNOWN}%00.example.com"},
    "in other letters": {"cn": KNOWN.upper()},
    "with a space": {"cn": f"{KNOWN} "},
    "as a pattern": {"cn": "*"},
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
async def test_a_certificate_with_the_name_elsewhere(tmp_path: Path, names: dict[str, str]) -> None:
    """Wants to be kube-apiserver by a certificate of the same CA that names it nearly."""
    clients = authority(tmp_path, "clients")
    pair = certificate(clients, tmp_path, **names)
    known = frozenset({KNOWN})
    async with running_gate(
        tmp_path, client_ca=clients.certificate_path, client_names=known
    ) as gate:
        answer = await post_as(gate, pair)
    assert answer.status == 403


async def test_a_certificate_of_another_ca_with_the_right_name(tmp_path: Path) -> None:
    """Wants a CA of one's own believed, which is called as the other."""
    clients, mine = authority(tmp_path, "clients"), authority(tmp_path, "mine")
    (tmp_path / "again").mkdir()
    same = Authority(tmp_path / "again", "clients")
    settings = AppSettings(authenticates=True)
    async with running_gate(
        tmp_path,
        Listener(),
        app_settings=settings,
        client_ca=clients.certificate_path,
        client_names=frozenset({KNOWN}),
    ) as gate:
        for each in (mine, same):
            with pytest.raises(REFUSED):
                await post_as(gate, each.issue_client(KNOWN, "spiffe://cluster/apiserver"))


async def test_refused_connection_answers_no_second_request(tmp_path: Path) -> None:
    """Wants a second request answered on a connection whose first was refused."""
    clients = authority(tmp_path, "clients")
    pair = clients.issue_client("alice", "spiffe://cluster/alice")
    judge = Listener()
    names = frozenset({KNOWN})
    async with running_gate(
        tmp_path, judge, client_ca=clients.certificate_path, client_names=names
    ) as gate:
        connection = await connect_twice(gate, pair)
    assert connection.startswith(b"HTTP/1.1 403")
    assert connection.count(b"HTTP/1.1 ") == 1
    assert not judge.asked


async def connect_twice(gate: Any, pair: KeyPair) -> bytes:
    """Send two reviews at once; return all that is said."""
    connection: Connection = await connect_as(gate, pair)
    head = f"POST /validate HTTP/1.1\n{JSON}\nContent-Length: {LENGTH}"
    connection.writer.write(raw(head) * 2)
    said = await asyncio.wait_for(connection.reader.read(), 5)
    await connection.close()
    return said


UIDS: Final = ("a\r\nX-Injected: yes", "<script>", "\u202e", '"},"allowed":true,"x":{"y":"')


@pytest.mark.parametrize("uid", UIDS)
async def test_an_echoed_uid_stays_a_text(tmp_path: Path, uid: str) -> None:
    """Wants the answer to say more than it does, by the one text that comes back."""
    async with running_gate(tmp_path) as gate:
        answer: Answer = await gate.post("/validate", encode(review(bad=True, uid=uid)))
    assert answer.status == 200
    assert "x-injected" not in answer.headers
    assert (answer.response["uid"], answer.response["allowed"]) == (uid, False)
