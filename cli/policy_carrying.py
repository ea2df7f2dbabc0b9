"""Puts a site's own cases into its bundle, so that they are judged wherever it is loaded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from cli.policy_cases import judge_case, key_of
from cli.policy_made import LeftOut
from core.errors import BundleRefusedError
from policies.authoring.cases import Case as Written
from policies.authoring.examples import find_all, read
from policies.authoring.recording import Asked, RecordingEngine
from policies.authoring.scope import files_of_rules, others
from policies.bundle import Bundle, Case
from policies.engine import Answer, Judgement
from policies.engine.embedded import EmbeddedEngine
from policies.site.choices import Choices

MOST_CASES: Final = 200
"""In one bundle: about 0.1 s of each gate's time when it loads it."""

MOST_BYTES: Final = 32 * 1024
"""Of one case, as JSON."""

MOST_BYTES_OF_ALL: Final = 1024 * 1024

_OTHER_CHOICES: Final = "it chooses other rules or parameters than --rules"
_TOO_LARGE: Final = f"it is larger than {MOST_BYTES >> 10} KiB"
_TOO_MANY: Final = (
    f"a bundle carries at most {MOST_CASES} cases of {MOST_BYTES_OF_ALL >> 10} KiB together"
)
_FOR_OPA: Final = "a bundle for an OPA server carries none"


@dataclass
class Carrying:
    """Takes the cases of folders into a bundle, once each."""

    sites: Sequence[Path]
    choices: Choices
    left_out: list[LeftOut] = field(default_factory=list, init=False)

    def take(self, bundle: Bundle) -> list[Case]:
        """Judge the cases by the bundle, and give what it is to carry of them.

        What the policies answer is what they must answer at load; what the whole decision is to
        be, a profile and a right among it, is compared here.

        Raises:
            BundleRefusedError: a case is broken, cannot be judged, or is judged otherwise than it
                says; the message has file and line.
        """
        cases = list(self._wanted(bundle))
        if not cases:
            return []
        engine = RecordingEngine(EmbeddedEngine(bundle))
        try:
            return self._carried(bundle, engine, cases)
        finally:
            engine.close()

    def _wanted(self, bundle: Bundle) -> Iterator[tuple[str, Written]]:
        """Give the cases that this bundle can be judged by, with their files' names in it."""
        own = key_of(self.choices)
        for site in self.sites:
            for path in find_all(site):
                case = read(path, self.choices)
                if bundle.engine == "opa":
                    self._leave(case, _FOR_OPA)
                elif key_of(case.choices) != own:
                    self._leave(case, _OTHER_CHOICES)
                else:
                    yield f"{site.resolve().name}/{path.relative_to(site).as_posix()}", case

    def _carried(
        self, bundle: Bundle, engine: RecordingEngine, cases: Sequence[tuple[str, Written]]
    ) -> list[Case]:
        files = files_of_rules(bundle)
        kept: dict[bytes, Case] = {}
        size = 0
        for name, case in cases:
            if len(kept) >= MOST_CASES:
                self._leave(case, _TOO_MANY)
                continue
            engine.asked.clear()
            _require_passed(case, engine, others(case.folder, self.sites, files))
            new = {_key(each): each for each in _made(f"{name}: {case.said.name}", engine.asked)}
            sizes = [len(msgspec.json.encode(each)) for each in new.values()]
            if any(each > MOST_BYTES for each in sizes):
                self._leave(case, _TOO_LARGE)
            elif size + sum(sizes) > MOST_BYTES_OF_ALL:
                self._leave(case, _TOO_MANY)
            else:
                size += sum(sizes)
                kept = {**new, **kept}
        return sorted(kept.values(), key=lambda each: each.name)

    def _leave(self, case: Written, why: str) -> None:
        self.left_out.append(LeftOut(case.file, case.said.name, why))


def _require_passed(case: Written, engine: RecordingEngine, other: frozenset[str]) -> None:
    judged = judge_case(case, engine, other)
    if not judged.passed:
        raise BundleRefusedError(
            f"{judged.place}: the case {judged.name!r} is {judged.got}, and expects "
            f"{judged.expected}: mend the rule or the case ('sallyport policy test'):\n"
            f"{judged.detail}"
        )


def _made(name: str, asked: Sequence[Asked]) -> Iterator[Case]:
    """Give what was asked about one case, each as a case that a bundle carries."""
    answers = {it.document: it.answer for it in asked if isinstance(it.answer, Answer)}
    judged = [(it, it.answer) for it in asked if isinstance(it.answer, Judgement)]
    seen = {each.projection for each, _ in judged}
    made = [_judged(each, answers[each.projection], said) for each, said in judged]
    made += [_needed(document, it) for document, it in answers.items() if document not in seen]
    for number, case in enumerate(made, 1):
        yield msgspec.structs.replace(case, name=name if len(made) == 1 else f"{name} ({number})")


def _needed(projection: bytes, answer: Answer) -> Case:
    return Case(
        name="",
        projection=msgspec.json.decode(projection),
        needs=sorted({need.privilege for need in answer.needs}),
        signals=sorted({each.rule for each in answer.signals}),
    )


def _judged(asked: Asked, answer: Answer, said: Judgement) -> Case:
    document: dict[str, Any] = msgspec.json.decode(asked.document)
    return msgspec.structs.replace(
        _needed(asked.projection, answer),
        context=document["context"],
        kind=document["kind"],
        fields=document["fields"],
        signals=sorted({each.rule for each in (*answer.signals, *said.signals)}),
        denials=sorted({each.rule for each in said.denials}),
        warnings=sorted({each.rule for each in said.warnings}),
    )


def _key(case: Case) -> bytes:
    """Give what makes a case another than those that are there."""
    return msgspec.json.encode(msgspec.structs.replace(case, name=""))
