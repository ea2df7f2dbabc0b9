"""Calls functions of a WebAssembly instance, with as little work as can be."""

import ctypes
from contextlib import suppress
from typing import Any, NoReturn

import wasmtime
from wasmtime import _ffi as ffi
from wasmtime._func import maybe_raise_last_exn


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
        """Raise what ended the call.

        What a host function raised, its instance has kept: the binding keeps only the last of all
        threads, which may be another instance's.
        """
        raised: Exception
        if error:
            raised = wasmtime.WasmtimeError._from_ptr(error)  # noqa: SLF001
        else:
            raised = wasmtime.Trap._from_ptr(self._trap)  # noqa: SLF001
        with suppress(Exception):
            maybe_raise_last_exn()  # Forgets it.
        raise raised
