"""Calls between a WebAssembly instance and its host, with as little work as can be."""

import ctypes
from collections.abc import Callable
from typing import Any, Final, NoReturn

import wasmtime
from wasmtime import _ffi as ffi

_NOTHING_TO_FREE: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p)()


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
