"""Policies that OPA compiled to WebAssembly, evaluated by wasmtime with one call each.

Follows OPA's own host (open-policy-agent/opa, internal/wasm/sdk/internal/wasm/vm.go, and the ABI in
docs/wasm): the input is written where the heap begins, `opa_eval` parses, evaluates and dumps, and
the next evaluation overwrites all. Why this is ours: docs/adr/0020-one-call-an-evaluation.md.
"""

import ctypes
import math
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

import msgspec
import wasmtime
from wasmtime import _ffi as ffi

from core.base.errors import PolicyError
from policies.builtins.native import without_value
from policies.builtins.values import ask
from policies.engine.strict_builtins import ASKED, make_strict

_NOTHING_TO_FREE: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p)()

_EMPTY_MODULE: Final = b"\0asm\1\0\0\0"

PAGE: Final = 64 * 1024
_FIRST_PAGES: Final = 64
"""4 MiB to begin with: what a policy's constants take; untouched pages take none."""

_TICK_S: Final = 0.005
"""Deadlines are kept this precisely."""

_LONGEST_TICKS: Final = round(60 / _TICK_S)
"""More than any evaluation may take."""

_FIRST_READ: Final = 4096
"""Bytes looked at first for the end of an answer: most are shorter."""

_NO_MEMORY: Final = ("opa_malloc: failed", "failed to grow memory")
"""What OPA's runtime and wasmtime say where there is no more."""

_LONGEST_SAID: Final = 1000
"""Characters of why an evaluation failed, which a module may say itself."""

_OUTSIDE: Final = "it answered with an address outside its memory"

_MOST_ELEMENTS: Final = 64 * 1024
"""Of its one table, which holds the functions that OPA's compiler calls indirectly."""

_BUILTINS: Final = tuple(f"opa_builtin{arity}" for arity in range(5))

_RULE: Final = re.compile(r"!g\d+\.data\.([\w.]+)")
"""The innermost rule among the functions that a failure names; OPA's compiler calls them so."""

Builtins = Mapping[str, Callable[..., Any]]


def start_compiler() -> None:
    """Start wasmtime's threads that compile, which a process has from its first module on.

    To be called before memory is limited: where there is none for a thread's stack, wasmtime waits
    for that thread for ever.
    """
    wasmtime.Module(wasmtime.Engine(), _EMPTY_MODULE)


def compile_module(engine: wasmtime.Engine, wasm: bytes) -> wasmtime.Module:
    """Compile OPA's module, with the built-ins that it brings made strict.

    Raises:
        wasmtime.WasmtimeError: it is no WebAssembly.
    """
    return wasmtime.Module(engine, make_strict(wasm))


class Function:
    """A function of 32-bit integers, called with arrays that are made once.

    wasmtime.Func asks for the function's type, converts each parameter and allocates anew at every
    call, which took 60 µs for the seven parameters of an evaluation.
    """

    def __init__(self, function: wasmtime.Func, store: wasmtime.Store, count: int) -> None:
        self._context = store._context()  # noqa: SLF001  As wasmtime's own calls do.
        self._address = ctypes.byref(function._func)  # noqa: SLF001
        self._count = count
        self._parameters = (ffi.wasmtime_val_t * count)()
        for parameter in self._parameters:
            parameter.kind = ffi.WASMTIME_I32
        self._result = (ffi.wasmtime_val_t * 1)()
        self._trap = ctypes.POINTER(ffi.wasm_trap_t)()
        self._trap_place = ctypes.byref(self._trap)
        self._places = [parameter.of for parameter in self._parameters]
        self._answer = self._result[0].of

    def __call__(self, *values: int) -> int:
        """Call it; what it raises are wasmtime's Trap and WasmtimeError."""
        for place, value in zip(self._places, values, strict=True):
            place.i32 = value
        error = ffi.wasmtime_func_call(
            self._context,
            self._address,
            self._parameters,
            self._count,
            self._result,
            1,
            self._trap_place,
        )
        if error or self._trap:  # type: ignore[truthy-bool]  # Pointers: true unless null.
            self._fail(error)
        return int(self._answer.i32)

    def _fail(self, error: Any) -> NoReturn:
        """Raise what ended the call; what a host function raised, its instance has kept."""
        if error:
            raise wasmtime.WasmtimeError._from_ptr(error)  # noqa: SLF001
        raise wasmtime.Trap._from_ptr(self._trap)  # noqa: SLF001


class HostFunction:
    """A function of the host's that takes 32-bit integers, and gives one or nothing.

    wasmtime.Func asks for the type of each value and makes objects of them at every call (12 µs),
    and keeps the functions of all of a process's stores in one list.
    """

    def __init__(
        self,
        store: wasmtime.Store,
        function: Callable[..., int | None],
        count: int,
        on_failure: Callable[[BaseException], None],
        *,
        gives: bool,
    ) -> None:
        """Make it; it is to live as long as its store. What it raises ends the evaluation."""
        self._function = function
        self._on_failure = on_failure
        self._callback = ffi.wasmtime_func_callback_t(self._called)
        integer = wasmtime.ValType.i32()
        kind = wasmtime.FuncType([integer] * count, [integer] if gives else [])
        made = ffi.wasmtime_func_t()
        ffi.wasmtime_func_new(
            store._context(),  # noqa: SLF001
            kind.ptr(),
            self._callback,
            None,
            _NOTHING_TO_FREE,
            ctypes.byref(made),
        )
        self.imported = wasmtime.Func._from_raw(made)  # noqa: SLF001

    def _called(
        self, _: Any, _caller: Any, given: Any, count: int, results: Any, gives: int
    ) -> int:
        """Be wasmtime's `wasmtime_func_callback_t`: give 0, or the address of a trap."""
        try:
            answer = self._function(*[given[at].of.i32 for at in range(count)])
            if gives:
                results[0].kind = ffi.WASMTIME_I32
                results[0].of.i32 = answer
        except BaseException as error:  # noqa: BLE001  Nothing may pass through WebAssembly.
            self._on_failure(error)
            trap = wasmtime.Trap("the host failed")._consume()  # noqa: SLF001
            return ctypes.cast(trap, ctypes.c_void_p).value or 0
        return 0


class Code:
    """One compiled policy: machine code that any number of instances share."""

    def __init__(
        self, wasm: bytes, machine: bytes = b"", clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Compile, or load the machine code that `self.module.serialize` gave on this machine.

        `clock` is what deadlines are of: wall time, or the CPU time of this process.

        Raises:
            PolicyError: it is no WebAssembly.
        """
        config = wasmtime.Config()
        config.epoch_interruption = True
        config.wasm_multi_memory = False  # One of its own would be beside the one that it is given.
        self.engine = wasmtime.Engine(config)
        try:
            if machine:
                self.module = wasmtime.Module.deserialize(self.engine, machine)
            else:
                self.module = compile_module(self.engine, wasm)
        except wasmtime.WasmtimeError as error:
            raise PolicyError(str(error)) from error
        self._clock = clock
        self._stop = threading.Event()
        self._ticker = threading.Thread(target=self._tick, name="policy-clock", daemon=True)
        self._ticker.start()

    def close(self) -> None:
        """End the clock, and whatever still runs."""
        self._stop.set()
        for _ in range(_LONGEST_TICKS):
            self.engine.increment_epoch()

    def _tick(self) -> None:
        before = self._clock()
        while not self._stop.wait(_TICK_S):
            now = self._clock()
            if now - before > _TICK_S / 2:
                before = now
                self.engine.increment_epoch()


class Instance:
    """A policy with a memory of its own; used by one thread at a time.

    WebAssembly keeps a module's code inside its memory, and not this host: an address that the
    module names is one to check before anything is read or written there.

    After an evaluation that failed it is not to be used again: its heap is as the failure left it.
    """

    def __init__(self, code: Code, memory_bytes: int, builtins: Builtins) -> None:
        """Link and start.

        Raises:
            PolicyError: it is no policy of OPA's, or needs more memory than it may have.
        """
        self._store = wasmtime.Store(code.engine)
        self._builtins = builtins
        self._failure: BaseException | None = None
        self._memory_bytes = memory_bytes
        try:
            self._start(code, memory_bytes)
        except BaseException:
            self._store.close()
            raise

    def _start(self, code: Code, memory_bytes: int) -> None:
        self._store.set_limits(memory_bytes, _MOST_ELEMENTS, instances=1, tables=1)
        self._store.set_epoch_deadline(_LONGEST_TICKS)
        self._context = self._store._context()  # noqa: SLF001  As wasmtime's own calls do.
        pages = memory_bytes // PAGE
        limits = wasmtime.Limits(min(_FIRST_PAGES, pages), pages)
        try:
            self._memory = wasmtime.Memory(self._store, wasmtime.MemoryType(limits))
            self._place = ctypes.byref(self._memory._memory)  # noqa: SLF001  As its own calls do.
            self._look()
            self._exports = self._link(code).exports(self._store)
            self._eval = Function(self._exported("opa_eval"), self._store, 7)
            self._dump = Function(self._exported("opa_json_dump"), self._store, 1)
            self._dump_value = Function(self._exported("opa_value_dump"), self._store, 1)
            self._parse_value = Function(self._exported("opa_value_parse"), self._store, 2)
            self._malloc = Function(self._exported("opa_malloc"), self._store, 1)
            self.entrypoints = self._read_numbers(self._call("entrypoints"))
            self.required = self._read_numbers(self._call("builtins"))
            self._heap = int(self._call("opa_heap_ptr_get"))
            self._look()
            self._require_inside(self._heap, 0)
        except (wasmtime.WasmtimeError, wasmtime.Trap, msgspec.DecodeError) as error:
            raise PolicyError(str(error)) from error
        self._names = {number: name for name, number in self.required.items()}

    def evaluate(self, entrypoint: int, document: bytes, seconds: float) -> bytes:
        """Return the result set of an entry point, `[{"result": …}]`, as JSON.

        Raises:
            PolicyError: it took too long or too much memory, or failed.
        """
        end = self._heap + len(document)
        try:
            self._make_room(end)
            ctypes.memmove(self._base + self._heap, document, len(document))
            ffi.wasmtime_context_set_epoch_deadline(
                self._context, max(1, math.ceil(seconds / _TICK_S))
            )
            # Reserved, entry point, data, input, its length, where the heap goes on, as JSON.
            return self._read_text(self._eval(0, entrypoint, 0, self._heap, len(document), end, 0))
        except (wasmtime.WasmtimeError, wasmtime.Trap, PolicyError) as error:
            raise self._explain(error, seconds) from error

    def close(self) -> None:
        """Free its memory."""
        self._store.close()

    def _make_room(self, end: int) -> None:
        if end > self._size:
            self._look()
        if end > self._size:
            self._memory.grow(self._store, math.ceil((end - self._size) / PAGE))
            self._look()

    def _explain(self, error: BaseException, seconds: float) -> PolicyError:
        if isinstance(error, wasmtime.Trap) and error.trap_code is wasmtime.TrapCode.INTERRUPT:
            return PolicyError(f"it exceeded its time limit of {seconds:g} s")
        text = str(error).splitlines()[0] if self._failure is None else str(self._failure)
        if text.startswith(_NO_MEMORY):
            text = f"it exceeded its memory limit of {self._memory_bytes >> 20} MiB"
        rule = _RULE.search(str(error))
        text = text[:_LONGEST_SAID]
        return PolicyError(f"{text}, in {rule[1][:_LONGEST_SAID]}" if rule else text)

    def _link(self, code: Code) -> wasmtime.Instance:
        linker = wasmtime.Linker(code.engine)
        linker.define(self._store, "env", "memory", self._memory)
        hosts = {
            "opa_abort": self._host(1, self._abort, gives=False),
            "opa_println": self._host(1, lambda _: None, gives=False),
        } | {
            name: self._host(2 + arity, self._call_builtin) for arity, name in enumerate(_BUILTINS)
        }
        for name, function in hosts.items():
            linker.define(self._store, "env", name, function.imported)
        self._hosts = hosts  # They are to live as long as the store.
        return linker.instantiate(self._store, code.module)

    def _host(
        self, count: int, function: Callable[..., int | None], *, gives: bool = True
    ) -> HostFunction:
        return HostFunction(self._store, function, count, self._note, gives=gives)

    def _note(self, error: BaseException) -> None:
        """Keep what a function of the host raised, which ends the evaluation."""
        self._failure = error

    def _abort(self, address: int) -> None:
        raise PolicyError(self._read_text(address)[:_LONGEST_SAID].decode(errors="replace"))

    def _call_builtin(self, number: int, _context: int, *addresses: int) -> int:
        name = ASKED[number] if number < 0 else self._names.get(number, "")
        if number >= 0 and name not in self._builtins:
            message = f"the policy calls {name or number}, which is not supplied"
            raise PolicyError(message)
        try:
            written = [self._read_text(self._dump_value(address)) for address in addresses]
            function = without_value(name) if number < 0 else self._builtins[name]
            answer = ask(function, written)
        except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
            raise PolicyError(f"{name}: {error}") from error
        if answer is None:
            return 0
        address = self._malloc(len(answer))
        self._look()
        self._require_inside(address, len(answer))
        ctypes.memmove(self._base + address, answer, len(answer))
        return self._parse_value(address, len(answer))

    def _exported(self, name: str) -> wasmtime.Func:
        found = self._exports.get(name)
        if not isinstance(found, wasmtime.Func):
            raise PolicyError(f"it exports no {name}: OPA did not compile it")
        return found

    def _call(self, name: str) -> Any:
        return self._exported(name)(self._store)

    def _read_numbers(self, address: int) -> dict[str, int]:
        """Return a value of the policy's that gives names their numbers."""
        return msgspec.json.decode(self._read_text(self._dump(address)), type=dict[str, int])

    def _read_text(self, address: int) -> bytes:
        """Return the text at an address, which ends with a zero, as all of OPA's do.

        Raises:
            PolicyError: the address is outside the memory, or the text does not end in it.
        """
        self._look()
        self._require_inside(address, 1)
        left = self._size - address
        length = _FIRST_READ
        while True:
            text = ctypes.string_at(self._base + address, min(length, left))
            end = text.find(0)
            if end >= 0:
                return text[:end]
            if length >= left:
                raise PolicyError("it answered with a text that has no end")
            length *= 8

    def _require_inside(self, address: int, length: int) -> None:
        """Refuse an address that does not have so many bytes in the memory, as last looked at."""
        if not 0 < address <= self._size - length:
            raise PolicyError(_OUTSIDE)

    def _look(self) -> None:
        """Note where the memory lies and how large it is: whatever runs in it may let it grow."""
        data = ffi.wasmtime_memory_data(self._context, self._place)
        self._base = ctypes.addressof(data.contents)
        self._size = ffi.wasmtime_memory_data_size(self._context, self._place)
