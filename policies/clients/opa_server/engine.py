"""The engine on an OPA server: the same policies and inputs, evaluated over HTTP.

Which of the two engines is for whom: docs/policies/engines.md. Why it is built so:
docs/adr/0052-an-opa-server-as-the-engine.md. Its connections live in an event loop of a thread of
its own: an engine is made and tried in one thread and then asked in another's loop, and aiohttp's
connections belong to the loop that they were opened in.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

import msgspec

from core.base.errors import BundleRefusedError, EngineAwayError, EvaluationError
from core.base.json_errors import DECODE_ERRORS
from policies.bundle.format import JUDGE, NEEDS, Bundle
from policies.clients.opa_server.connection import MOST_CONNECTIONS, Evaluation, OpaConnection
from policies.clients.opa_server.policies import (
    PoliciesLostError,
    PushedPolicies,
    ServedPolicies,
    ServerPolicies,
)
from policies.engine.embedded_engine import EvaluationLimits
from policies.engine.entry_points import (
    CANARY,
    CANARY_CONTEXT,
    find_problem,
    judge_input,
    read_answer,
    read_judgement,
)
from policies.engine.forbidden_calls import refuse_outside
from policies.engine.interface import A_POD, Judgement, PolicyAnswer, ShownFields
from policies.engine.opa_endpoint import OpaServer
from policies.site.fields import DeclaredFields

_T = TypeVar("_T")

_STOP_S: Final = 5.0

LOOK_EVERY_S: Final = 2.0
"""How often is looked whether the server is there, and has the policies."""

PLACE_S: Final = 10.0
"""What one request may take with which they are put there: compiling them takes up to 1 s."""

_AGAIN_S: Final = 1.0
"""After putting them there has failed, so long all who ask are told so."""

_LIMITS: Final = EvaluationLimits()
_OK: Final = 200
_BAD_INPUT: Final = 400
_FAILED: Final = 500
_NOT_YET: Final = "the policies have not been looked for on the OPA server yet"

_BUILTIN: Final = "eval_builtin_error"
"""Whose message goes on with the operand, which is the object's."""


class LoopThread:
    """Runs coroutines in its thread until it is closed."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        """Whether it takes no more work."""
        return self._loop.is_closed()

    async def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run it there; to cancel this is to cancel it."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def call(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run it there, and wait in this thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """Cancel what runs, and end the thread."""
        if self.closed:
            return
        asyncio.run_coroutine_threadsafe(_cancelled(), self._loop).result(_STOP_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_STOP_S)
        self._loop.close()


async def _cancelled() -> None:
    """Cancel every other task of this loop, and wait for its end."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class OpaServerEngine:
    """Evaluates a bundle on an OPA server."""

    def __init__(
        self,
        bundle: Bundle,
        server: OpaServer,
        limits: EvaluationLimits = _LIMITS,
        observe: Callable[[float], None] = lambda _: None,
    ) -> None:
        """Take the policies there, if the server can be reached; else it is tried again and again.

        Raises:
            BundleRefusedError: the bundle cannot be put in force; never because of the server.
            SettingsError: the server's CA cannot be read.
        """
        refuse_outside(bundle)
        self.revision = bundle.revision
        self.rules = bundle.rules
        self.reads = DeclaredFields(bundle.rules.values())
        self._whole = bundle.has_site_rules
        self._limits = limits
        self._observe = observe
        self._policies: ServerPolicies = (
            PushedPolicies(bundle) if server.push else ServedPolicies(bundle)
        )
        self._connection = OpaConnection(server, PLACE_S)
        self._missing = _NOT_YET
        self._placed_at = self._failed_at = float("-inf")
        self._failure: BundleRefusedError | EngineAwayError | None = None
        self._watching: asyncio.Task[None] | None = None
        self._loop = LoopThread("opa-server")
        try:
            self._loop.call(self._open())
        except BaseException:
            self.close()
            raise

    async def ask(self, projection: bytes) -> PolicyAnswer:
        """See Engine.ask.

        Raises:
            EngineAwayError: the server cannot be asked, or does not have the policies.
        """
        return read_answer(await self._run(NEEDS, projection))

    async def judge(
        self, projection: bytes, answer: PolicyAnswer, context: bytes, shown: ShownFields = A_POD
    ) -> Judgement:
        """See Engine.judge.

        Raises:
            EngineAwayError: the server cannot be asked, or does not have the policies.
        """
        document = judge_input(projection, answer, context, shown, whole=self._whole)
        return read_judgement(await self._run(JUDGE, document))

    def missing(self) -> list[str]:
        """See `RemoteEngine.missing`."""
        return [self._missing] if self._missing else []

    def close(self) -> None:
        """Close the connections. The policies stay there: another gate may ask for them."""
        if self._loop.closed:
            return
        self._loop.call(self._shut())
        self._loop.close()

    async def _open(self) -> None:
        """Connect, look once, and go on looking."""
        self._free = asyncio.Semaphore(MOST_CONNECTIONS)
        self._placing = asyncio.Lock()
        await self._connection.open()
        await self._look()
        self._watching = asyncio.create_task(self._watch())

    async def _shut(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        await self._connection.close_connection()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                await self._look()
            except BundleRefusedError as error:
                self._missing = str(error)
            except Exception as error:  # noqa: BLE001  Whatever it is: it is looked again.
                self._missing = f"the OPA server cannot be looked at ({type(error).__name__})"

    async def _look(self) -> None:
        """Ask what every bundle must find something in, and note what is missing.

        Raises:
            BundleRefusedError: the server takes no such bundle, or it finds nothing there.
        """
        try:
            answer = read_answer(await self._answered(NEEDS, CANARY))
            document = judge_input(CANARY, answer, CANARY_CONTEXT, A_POD, whole=self._whole)
            judged = read_judgement(await self._answered(JUDGE, document))
        except EvaluationError as error:
            self._missing = str(error)
        else:
            if problem := find_problem(answer, judged):
                raise BundleRefusedError(problem)
            self._missing = ""

    async def _run(self, entrypoint: str, document: bytes) -> bytes:
        if len(document) > self._limits.input_bytes:
            message = f"the object takes more than {self._limits.input_bytes} bytes to judge"
            raise EvaluationError(message)
        start = time.perf_counter()
        try:
            return await self._loop.run(self._answered(entrypoint, document))
        except BundleRefusedError as error:
            raise EngineAwayError(str(error)) from error
        finally:
            self._observe(time.perf_counter() - start)

    async def _answered(self, entrypoint: str, document: bytes) -> bytes:
        """Return an answer of this revision; what the server has lost is put there once more."""
        try:
            try:
                return await self._evaluated(entrypoint, document)
            except PoliciesLostError:
                await self._place()
                return await self._evaluated(entrypoint, document)
        except PoliciesLostError as lost:
            raise EngineAwayError(str(lost)) from lost
        except EngineAwayError as error:
            self._missing = str(error)
            raise

    async def _place(self) -> None:
        """Put the policies there; who comes meanwhile waits for the same.

        Raises:
            BundleRefusedError: the server does not take them.
            EngineAwayError: it cannot be asked.
        """
        came = time.monotonic()
        async with self._placing:
            if self._placed_at >= came:
                return
            if self._failure is not None and came - self._failed_at < _AGAIN_S:
                raise type(self._failure)(str(self._failure))
            try:
                await self._policies.place(self._connection)
            except (BundleRefusedError, EngineAwayError) as error:
                self._failure, self._failed_at = error, time.monotonic()
                raise
            self._placed_at = time.monotonic()

    async def _evaluated(self, entrypoint: str, document: bytes) -> bytes:
        """Return the result set of an entry point, as the embedded engine has it.

        Raises:
            PoliciesLostError: it is of other policies, or there are none.
            EngineAwayError: the server cannot be asked.
            EvaluationError: the policies failed.
        """
        async with self._free:
            path = self._policies.path[entrypoint]
            said = await self._connection.evaluate(path, document, self._limits.seconds)
        if said.status != _OK:
            raise self._failed(said)
        value = self._policies.read(said.body)
        return b"[]" if value is None else b'[{"result":%b}]' % value

    def _failed(self, said: Evaluation) -> EvaluationError:
        try:
            errors = _FAILURES.decode(said.body).errors
        except DECODE_ERRORS:
            errors = []
        if said.status == _FAILED and errors:
            first = errors[0]
            why = first.message if first.code != _BUILTIN else first.message.partition(": ")[0]
            where = self._policies.shown(first.location)
            return EvaluationError(f"the policies could not be evaluated: {where}: {why}")
        if said.status == _BAD_INPUT:
            return EvaluationError("the OPA server cannot read what it is asked about")
        return EngineAwayError(f"the OPA server answers {said.status}, and not why")


class _Failure(msgspec.Struct):
    code: str = ""
    message: str = ""
    location: dict[str, Any] = {}


class _Failures(msgspec.Struct):
    errors: list[_Failure] = []


_FAILURES: Final = msgspec.json.Decoder(_Failures)
