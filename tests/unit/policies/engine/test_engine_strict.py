"""Compiled policies are made to fail aloud, or are not loaded."""

import dataclasses
from collections.abc import Iterator

import pytest

from core.base.errors import BundleRefusedError, EvaluationError, PolicyError
from policies.builtins.native import NATIVE
from policies.bundle.format import Bundle, read_bundle
from policies.engine.embedded_engine import EmbeddedEngine
from policies.engine.strict_builtins import Functions, make_strict, number_of
from tests.unit.policies.bundles import make_bundle, rule

CALLS = 'startswith(input.odd, "a")'
_NAMES = b"\x04name"


def naming(name: str, number: int) -> bytes:
    """Write a section of names in which a function has that name."""
    pairs = [("opa_eval", 9), (name, number)]
    named = b"".join(number_of(at) + bytes([len(each)]) + each.encode() for each, at in pairs)
    listed = bytes([len(pairs)]) + named
    return _NAMES + b"\x01" + number_of(len(listed)) + listed


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """One with a call that may fail."""
    folder = tmp_path_factory.mktemp("strict")
    return read_bundle(make_bundle(folder, {"site/x.rego": rule(CALLS)}))


@pytest.fixture(scope="module")
def engine(bundle: Bundle) -> Iterator[EmbeddedEngine]:
    """The engine on it."""
    made = EmbeddedEngine(bundle)
    yield made
    made.close()


def test_the_error_names_the_function_what_it_got_and_the_rule(engine: EmbeddedEngine) -> None:
    """And the next evaluation is sound."""
    with pytest.raises(EvaluationError) as failed:
        engine.evaluate(b'{"containers":[],"os":"trigger","odd":null}')
    assert str(failed.value) == (
        "the policies could not be evaluated: startswith: it has no value for what it is given "
        "(null, string), in sallyport.privileges.host.network.needs"
    )
    found = engine.evaluate(b'{"containers":[],"os":"trigger","odd":"ab"}')
    assert [need.privilege for need in found.needs] == ["site/found"]


def test_each_function_that_is_called_gets_another_body(bundle: Bundle) -> None:
    """The old one is behind it; nothing else is another."""
    before, after = Functions.read(bundle.wasm), Functions.read(make_strict(bundle.wasm))
    called = {before.names[name] for name in NATIVE.values() if name in before.names}
    first = len(before.imported)
    changed = {first + at for at, body in enumerate(before.bodies) if after.bodies[at] != body}
    assert changed == called
    assert len(called) > 20
    added = after.bodies[len(before.bodies) :]
    assert 0 < len(added) <= len(called)
    assert set(added) <= {before.bodies[at - first] for at in called}
    unlike = {kind for kind, _ in before.sections} ^ {kind for kind, _ in after.sections}
    assert not unlike


def test_a_module_is_written_as_it_was_read(bundle: Bundle) -> None:
    """Byte by byte."""
    assert Functions.read(bundle.wasm).written() == bundle.wasm


def test_a_policy_without_names_is_refused(bundle: Bundle) -> None:
    """It would fail in silence."""
    found = Functions.read(bundle.wasm)
    kept = [each for each in found.sections if not each[1].startswith(_NAMES)]
    assert len(kept) == len(found.sections) - 1
    stripped = found._replace(sections=kept).written()
    with pytest.raises(BundleRefusedError, match="its functions have no names"):
        EmbeddedEngine(dataclasses.replace(bundle, wasm=stripped))


@pytest.mark.parametrize("at", [0, 3, 10**6, -1])
def test_a_policy_whose_names_lie_is_refused(bundle: Bundle, at: int) -> None:
    """Where the name of a function is that of an import, of another or of none."""
    found = Functions.read(bundle.wasm)
    last = len(found.imported) + len(found.bodies) - 1
    lying = naming(NATIVE["startswith"], at if at >= 0 else last)
    sections = [(0, lying) if each[1].startswith(_NAMES) else each for each in found.sections]
    with pytest.raises(PolicyError, match=r"opa_strings_startswith is not OPA's"):
        make_strict(found._replace(sections=sections).written())


@pytest.mark.parametrize(
    "wasm", [b"", b"\0asm\1\0\0\0", b"\0asm\1\0\0\0\x0a\xff\x7f", b"PK\3\4" * 9], ids=len
)
def test_what_is_no_module_is_refused(wasm: bytes) -> None:
    """With an error, whatever the bytes are."""
    with pytest.raises(PolicyError, match="it is no WebAssembly"):
        make_strict(wasm)


@pytest.mark.parametrize("more", [0, 1, 3, 4, 5, 1000])
def test_a_number_has_five_bytes_at_most(more: int) -> None:
    """As those of 32 bits have; reading each more would take longer than the one before."""
    types, own = b"\x01\x60\x00\x00", b"\x01" + b"\x80" * more + b"\x00"
    parts = [(1, types), (3, own), (10, b"\x01\x02\x00\x0b")]
    module = b"\0asm\1\0\0\0" + b"".join(
        bytes([kind]) + number_of(len(each)) + each for kind, each in parts
    )
    if more < 5:
        assert Functions.read(module).kinds == [0]
    else:
        with pytest.raises(PolicyError, match="it is no WebAssembly"):
            Functions.read(module)


def test_a_module_that_breaks_off_is_refused(bundle: Bundle) -> None:
    """At whatever byte."""
    for length in range(0, len(bundle.wasm) - 1, 9973):
        with pytest.raises(PolicyError):
            make_strict(bundle.wasm[:length])
