"""What strangers write fills no cache of the process, however long it is."""

import ast
import asyncio
import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from ipaddress import ip_address, ip_network
from typing import Final

import msgspec
import pytest

from admission.model.candidates import candidates
from admission.model.messages import privilege_message
from audit.access.attribution.admissions import Admission, Admissions
from audit.access.attribution.lives import life_of
from audit.access.attribution.rules import AttributionRules
from audit.access.model.sightings import agent_family, network_of
from audit.access.parsers.caller_networks import CallerLocator
from audit.access.parsers.log_times import normalize_time
from audit.behaviour.acts import Act, ActKind
from audit.behaviour.cluster_habits import ClusterHabits
from core.base.errors import InvalidObjectError
from core.base.ids import writer_bits
from core.base.networks import parse_network
from core.kubernetes.pod import decode_pod, is_nothing
from core.people.subject import Subject, pseudonymous_group
from core.profiles.container_profiles import ProfileSet
from core.weights.documents.pod_life import PodLife
from egress.dns.usable_addresses import split_usable
from identity.risk.workload_identity import client_ids_of
from kube.cluster.access_reviews import AccessCache, AccessQuestion
from kube.cluster.folder import FolderCluster
from policies.backstop.parameters import is_relevant
from policies.projection.hints import find_named_kinds
from policies.projection.images import origin
from tests.unit.test_house import ROOMS, ROOT
from webhooks.deadline import budget_of_query
from webhooks.exchange import split_target

LONG: Final = 60 * 1024
"""Characters of a text; an AdmissionReview may hold some of as many."""
TEXTS: Final = 32
ROOM: Final = 512 * 1024
"""Bytes that all of them may leave behind: a quarter of them."""

LIFE: Final = {
    "format": 1,
    "id": "",
    "time": "2026-05-01T09:00:00Z",
    "cluster": "c",
    "event": "seen",
    "uid": "u",
    "namespace": "n",
    "name": "p",
    "serviceAccount": "default",
}
SIGNS_IN: Final = decode_pod(
    b'{"metadata":{"labels":{"azure.workload.identity/use":"true"}},"spec":{"containers":[]}}'
)
FOLDER: Final = FolderCluster(None)
HABITS: Final = ClusterHabits(b"salt")
ADMISSIONS: Final = Admissions()
PROFILES: Final = ProfileSet("r", ())


def learn(text: str) -> object:
    """Have the namespace of an act learnt."""
    act = Act("c", hash(text), 1.0, b"w", False, text, "", ActKind.CREATE)  # noqa: FBT003
    return HABITS.learn(act, 1.0)


def admit(text: str) -> None:
    """Take in a decision on a Pod that is forgotten at once."""
    ADMISSIONS.restore([[["uid", "id", msgspec.to_builtins(Admission((text,)))]], []])
    ADMISSIONS.drop("uid")


def resolve(text: str) -> object:
    """Judge the addresses of a name that has hundreds of them."""
    first = int(ip_address("203.0.113.0")) + len(text) * 300
    return split_usable(map(ip_address, range(first, first + 300)), (), (ip_network("10.0.0.0/8"),))


def ask_access(cache: AccessCache) -> Callable[[str], object]:
    """Return what asks for a right to the object of a name."""

    def ask(text: str) -> object:
        question = AccessQuestion(Subject("u"), "use", "containerprofiles", text, "n")
        return asyncio.run(cache.allowed(question))

    return ask


async def allow(_: AccessQuestion) -> bool:
    """Answer a question."""
    return True


ASKED: Final[dict[str, Callable[[str], object]]] = {
    "image": origin,
    "hints of an image": find_named_kinds,
    "network": lambda text: parse_network(text, field="f", what="w"),
    "zero": is_nothing,
    "group": pseudonymous_group,
    "writer of a record": writer_bits,
    "privilege": lambda text: privilege_message("{value}", f"image/from/{text}"),
    "candidates": lambda text: candidates(PROFILES, None, {f"image/from/{text}": 1}),
    "pattern of a profile": is_relevant,
    "client id": lambda text: client_ids_of(SIGNS_IN, text, ""),
    "tenant": lambda text: client_ids_of(SIGNS_IN, "", text),
    "rights in a folder": lambda text: FOLDER.remembered_access(Subject(text), "use", "r", "n", ""),
    "rights in a cluster": ask_access(AccessCache(allow)),
    "query": lambda text: budget_of_query(text.encode()),
    "target": lambda text: split_target(f"/{text}".encode()),
    "user agent": agent_family,
    "address of a caller": network_of,
    "place of a caller": CallerLocator().place,
    "address that many share": AttributionRules(shared=(ip_network("10.0.0.0/8"),)).is_shared,
    "time of a log": normalize_time,
    "namespace of an act": learn,
    "image of a decision": admit,
    "volume of a Pod": lambda text: life_of(msgspec.convert(LIFE | {"volumes": [text]}, PodLife)),
    "addresses of a name": resolve,
}


@pytest.mark.parametrize("what", ASKED)
def test_long_texts_are_not_kept(what: str) -> None:
    """Thousands of them, each as long as an object may be, would be gigabytes.

    Asked twice, for what is allocated once is not kept of each: the interpreter's own table of
    texts (`sys.intern`) grows by megabytes at some number that other tests bring it to.
    """
    ask = ASKED[what]
    assert min(_kept(ask, LONG), _kept(ask, LONG + TEXTS)) < ROOM


def _kept(ask: Callable[[str], object], length: int) -> int:
    """Return the bytes that texts of so many characters and more leave behind."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(TEXTS):
            with suppress(InvalidObjectError):
                ask("a" * (length + number))
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


FEW: Final = 16
"""Answers that a function may keep of any texts."""

BOUNDED: Final = {
    "admission/model/candidates.py:_remembered_candidates": "candidates() counts characters",
    "audit/access/attribution/lives.py:_whole": "the 19 characters of a second",
    "audit/access/parsers/log_times.py:_second": "the 19 characters of a second",
    "audit/ledger/store/sqlite.py:_insert": "two sizes for each of our tables",
    "core/decision/document.py:_remembered_isolated": "_record_sandbox() counts characters",
    "core/decision/id_ranges.py:_blocks": "longer texts are errors, which are not kept",
    "core/kubernetes/quantities.py:_amount": "longer texts are errors, which are not kept",
    "egress/analysis/connectivity.py:open_between": "numbers of the Pods that one command looks at",
    "egress/dns/usable_addresses.py:_remembered_usable": "split_usable() counts the addresses",
    "policies/builtins/globs.py:_expression": "longer patterns are errors, which are not kept",
    "policies/builtins/regexes.py:_compiled": "longer patterns are errors, which are not kept",
    "policies/builtins/times.py:_loaded": "names of no time zone are errors, which are not kept",
    "policies/builtins/units.py:_parsed": "longer amounts are errors, which are not kept",
    "policies/projection/volumes.py:_holds_nothing": "is_ordinary() hands over short volumes",
}
"""Functions that keep more answers by `functools`, and what bounds the size of each."""

_BY_FUNCTOOLS: Final = {"lru_cache", "cache", "functools.lru_cache", "functools.cache"}


def caches_of(tree: ast.AST) -> Iterator[str]:
    """Yield the names of what may keep more than FEW answers, whatever they are about."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            found = node.decorator_list if ast.unparse(node.args) else []
            name = node.name
        elif isinstance(node, ast.Assign):
            found = [each for each in ast.walk(node.value) if isinstance(each, ast.Call)]
            found += [each for each in [node.value] if not isinstance(each, ast.Call)]
            name = ast.unparse(node.targets[0])
        else:
            continue
        if any(keeps_many(each) for each in found):
            yield name


def keeps_many(made: ast.expr) -> bool:
    """Return whether an expression is a cache of more than FEW answers."""
    if not isinstance(made, ast.Call):
        return ast.unparse(made) in _BY_FUNCTOOLS
    sizes = [*made.args, *(each.value for each in made.keywords)]
    few = any(isinstance(each, ast.Constant) and each.value in range(FEW + 1) for each in sizes)
    return ast.unparse(made.func) in _BY_FUNCTOOLS and not few


def test_caches_that_keep_long_texts_are_known() -> None:
    """Others are made by core/base/short_text_cache.py, which keeps short texts alone."""
    found = []
    for path in [path for room in sorted(ROOMS) for path in sorted((ROOT / room).rglob("*.py"))]:
        text = path.read_text()
        if "cache" in text and path.name != "short_text_cache.py":
            names = caches_of(ast.parse(text))
            found += [f"{path.relative_to(ROOT).as_posix()}:{name}" for name in names]
    assert found == sorted(BOUNDED)


@pytest.mark.parametrize(
    "text",
    [
        "@lru_cache\ndef f(text): ...",
        "@lru_cache(512)\ndef f(text): ...",
        "@functools.lru_cache(maxsize=None)\ndef f(text): ...",
        "@cache\ndef f(text): ...",
        "f = lru_cache(MOST)(g)",
        "f = cache(g)",
    ],
)
def test_a_cache_of_many_answers_is_found(text: str) -> None:
    """Whatever way it is written."""
    assert list(caches_of(ast.parse(text))) == ["f"]


@pytest.mark.parametrize(
    "text",
    [
        "@lru_cache(8)\ndef f(text): ...",
        "@cache\ndef f(): ...",
        "@cache_short_text(4096, longest=64)\ndef f(text): ...",
    ],
)
def test_a_cache_of_few_answers_or_short_texts_is_allowed(text: str) -> None:
    """They stay small."""
    assert list(caches_of(ast.parse(text))) == []
