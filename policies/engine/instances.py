"""Instances of one policy, lent to one evaluation at a time."""

import queue
from collections.abc import Callable

from core.base.errors import PolicyError
from policies.engine.wasm import Code, Instance


class Instances:
    """A fixed number of instances; one that failed is replaced by a new one."""

    def __init__(self, code: Code, make: Callable[[Code], Instance], count: int) -> None:
        """Start `count` instances.

        Raises:
            PolicyError: the policy cannot be started.
        """
        self._code = code
        self._make = make
        self._idle: queue.SimpleQueue[Instance | None] = queue.SimpleQueue()
        for _ in range(count):
            self._idle.put(make(code))

    def evaluate(self, entrypoint: int, document: bytes, seconds: float, wait_s: float) -> bytes:
        """Evaluate on an instance that is idle, or will be within `wait_s` seconds.

        Raises:
            PolicyError: none is, or the evaluation failed.
        """
        try:
            instance = self._idle.get(timeout=wait_s)
        except queue.Empty:
            raise PolicyError("too many are evaluated at once") from None
        try:
            if instance is None:
                instance = self._make(self._code)
            answer = instance.evaluate(entrypoint, document, seconds)
        except BaseException as error:
            if instance is not None:
                instance.close()
            self._idle.put(None)
            if isinstance(error, PolicyError) or not isinstance(error, Exception):
                raise
            raise PolicyError(f"an instance failed: {type(error).__name__}") from error
        self._idle.put(instance)
        return answer

    def close(self) -> None:
        """Free those that are idle."""
        while True:
            try:
                instance = self._idle.get_nowait()
            except queue.Empty:
                return
            if instance is not None:
                instance.close()
