"""A module that names addresses outside its memory is stopped before the host touches them."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import wasmtime

from core.base.errors import PolicyError
from policies.engine.wasm import PAGE, Code, Instance

SIZE = 2 * PAGE
ANSWER = b"an answer that is longer than what is left"
OUTSIDE = [-(1 << 31), -len(ANSWER), 0, SIZE - len(ANSWER) + 1, SIZE, (1 << 31) - 1]
MODULE = """
(module
  (import "env" "memory" (memory 2))
  (import "env" "opa_builtin0" (func $ask (param i32 i32) (result i32)))
  %(more)s
  (data (i32.const 16) "{\\"x\\":1}\\00")
  (data (i32.const 32) "%(names)s\\00")
  (data (i32.const 64) "[]\\00")
  (func $opa_eval (export "opa_eval") (param i32 i32 i32 i32 i32 i32 i32) (result i32)
    (drop (call $ask (i32.const 1) (i32.const 0))) (i32.const %(said)d))
  (func (export "opa_json_dump") (param i32) (result i32) (local.get 0))
  (func (export "opa_value_dump") (param i32) (result i32) (local.get 0))
  (func (export "opa_value_parse") (param i32 i32) (result i32) (local.get 0))
  (func (export "opa_malloc") (param i32) (result i32) (i32.const %(room)d))
  (func (export "entrypoints") (result i32) (i32.const 16))
  (func (export "builtins") (result i32) (i32.const 32))
  (func (export "opa_heap_ptr_get") (result i32) (i32.const %(heap)d)))
"""
"""What the engine asks of a policy, with one call of a function of the host's."""


def wat(
    *, room: int = 512, heap: int = 1024, said: int = 64, more: str = "", names: str = '{\\"f\\":1}'
) -> str:
    """Return it with the addresses that it is to name."""
    return MODULE % {"room": room, "heap": heap, "said": said, "more": more, "names": names}


@contextmanager
def instance(text: str) -> Iterator[Instance]:
    """Start one, in a memory that cannot grow."""
    code = Code(bytes(wasmtime.wat2wasm(text)))
    try:
        made = Instance(code, SIZE, {"f": ANSWER.decode})
        try:
            yield made
        finally:
            made.close()
    finally:
        code.close()


def test_addresses_inside_are_used() -> None:
    """Up to the last byte."""
    for room in (1, SIZE - len(ANSWER) - 2):
        with instance(wat(room=room, heap=SIZE - 2)) as made:
            assert made.evaluate(0, b"{}", 5.0) == b"[]"
            assert made.evaluate(0, b"{}", 5.0) == b"[]"


@pytest.mark.parametrize("room", OUTSIDE)
def test_no_answer_is_written_outside(room: int) -> None:
    """Where the module says that it has room for what a function of the host answers."""
    with (
        instance(wat(room=room)) as made,
        pytest.raises(PolicyError, match="an address outside its memory"),
    ):
        made.evaluate(0, b"{}", 5.0)


@pytest.mark.parametrize("heap", [-(1 << 31), -PAGE, -1, 0, SIZE + 1, (1 << 31) - 1])
def test_no_input_is_written_outside(heap: int) -> None:
    """Where the module says that its heap begins: it is not started."""
    with (
        pytest.raises(PolicyError, match="an address outside its memory"),
        instance(wat(heap=heap)),
    ):
        pass


@pytest.mark.parametrize("said", [-(1 << 31), -1, 0, SIZE, (1 << 31) - 1])
def test_nothing_is_read_outside(said: int) -> None:
    """Where the module says that its result is."""
    with (
        instance(wat(said=said)) as made,
        pytest.raises(PolicyError, match="an address outside its memory"),
    ):
        made.evaluate(0, b"{}", 5.0)


@pytest.mark.parametrize(
    "more",
    ["(memory 1)", f"(table {64 * 1024 + 1} funcref)", "(table 1 funcref) (table 1 funcref)"],
)
def test_a_module_has_one_memory_and_one_table(more: str) -> None:
    """Another memory would be one more time the memory that it may have."""
    with pytest.raises(PolicyError), instance(wat(more=more)):
        pass


@pytest.mark.parametrize("names", ["[1]", '{\\"f\\":[1]}', "7"])
def test_what_says_no_numbers_is_not_started(names: str) -> None:
    """Names of functions have numbers."""
    with pytest.raises(PolicyError), instance(wat(names=names)):
        pass


def test_what_it_fails_with_is_short() -> None:
    """A module says itself why it ends."""
    long = """(import "env" "opa_abort" (func $end (param i32)))
      (func $start (memory.fill (i32.const 4096) (i32.const 97) (i32.const 65536))
        (call $end (i32.const 4096))) (start $start)"""
    with pytest.raises(PolicyError) as failed, instance(wat(more=long)):
        pass
    assert len(str(failed.value)) < 3000
