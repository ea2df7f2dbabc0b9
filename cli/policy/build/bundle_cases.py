"""Puts a site's own cases into its bundle, so that they are judged wherever it is loaded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from cli.policy.shared.cases import judge_case, key_of
from cli.policy.shared.documents import LeftOut
from core.base.errors import BundleRefusedError
from policies.authoring.cases import PolicyCase as Written
from policies.authoring.cases import files_of_rules, find_folder_rules, find_unrelated_rules
from policies.authoring.examples import find_all, read_case_file
from policies.authoring.parity import RecordedQuestion, RecordingEngine
from policies.bundle.format import Bundle, BundleCase
from policies.engine.embedded_engine import EmbeddedEngine
from policies.engine.interface import Judgement, PolicyAnswer
from policies.site.choices import Choices
from policies.trial.evaluation import with_findings

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
_OFF: Final = "--rules has switched off the rule that it is about"
_FOR_OPA: Final = "a bundle for an OPA server carries none"


@dataclass
class BundleCases:
    """Takes the cases of folders into a bundle, once each."""

    sites: Sequence[Path]
    choices: Choices
    left_out: list[LeftOut] = field(default_factory=list, init=False)

    def take(self, bundle: Bundle) -> list[BundleCase]:
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
        """Yield the cases that this bundle can be judged by, with their files' names in it."""
        own = key_of(self.choices)
        for site in self.sites:
            for path in find_all(site):
                case = read_case_file(path, site, self.choices)
                if bundle.engine == "opa":
                    self._leave(case, _FOR_OPA)
                elif key_of(case.choices) != own:
                    self._leave(case, _OTHER_CHOICES)
                elif _is_about(case, self.choices.off()):
                    self._leave(case, _OFF)
                else:
                    yield _named(site, path, case), case

    def _carried(
        self, bundle: Bundle, engine: RecordingEngine, cases: Sequence[tuple[str, Written]]
    ) -> list[BundleCase]:
        files = files_of_rules(bundle)
        kept: dict[bytes, BundleCase] = {}
        size = 0
        for name, case in cases:
            engine.asked.clear()
            _require_passed(case, engine, find_unrelated_rules(case.folder, self.sites, files))
            asked = {_key(each): each for each in _made(name, engine.asked)}
            new = {key: each for key, each in asked.items() if key not in kept}
            sizes = [len(msgspec.json.encode(each)) for each in new.values()]
            if asked and not new:
                first = next(kept[key].name for key in asked)
                self._leave(case, f"the same is asked and found as by {first!r}")
            elif any(each > MOST_BYTES for each in sizes):
                self._leave(case, _TOO_LARGE)
            elif size + sum(sizes) > MOST_BYTES_OF_ALL or len(kept) + len(new) > MOST_CASES:
                self._leave(case, _TOO_MANY)
            else:
                size += sum(sizes)
                kept |= new
        return sorted(kept.values(), key=lambda each: each.name)

    def _leave(self, case: Written, why: str) -> None:
        self.left_out.append(LeftOut(case.file, case.said.name, why))


def _is_about(case: Written, off: frozenset[str]) -> bool:
    """Return whether a case expects what a rule of `off` finds, or lies beside such rules alone."""
    expected = {each.rule.removeprefix("rules/") for each in case.said.findings}
    beside = {each.removeprefix("rules/") for each in find_folder_rules(case.folder)}
    return bool(expected & off) or bool(beside and beside <= off)


def _named(site: Path, path: Path, case: Written) -> str:
    """Name a case in its bundle: an example is called as its file is."""
    file = f"{site.resolve().name}/{path.relative_to(site).as_posix()}"
    return file if case.example else f"{file}: {case.said.name}"


def _require_passed(case: Written, engine: RecordingEngine, other: frozenset[str]) -> None:
    judged = judge_case(case, engine, other)
    if not judged.passed:
        raise BundleRefusedError(
            f"{judged.place}: the case {judged.name!r} is {judged.got}, and expects "
            f"{judged.expected}: mend the rule or the case ('sallyport policy test'):\n"
            f"{judged.detail}"
        )


def _made(name: str, asked: Sequence[RecordedQuestion]) -> Iterator[BundleCase]:
    """Yield what was asked about one case, each as a case that a bundle carries."""
    answers = {it.document: it.answer for it in asked if isinstance(it.answer, PolicyAnswer)}
    judged = [(it, it.answer) for it in asked if isinstance(it.answer, Judgement)]
    seen = {each.projection for each, _ in judged}
    made = [_judged(each, answers.get(each.projection), said) for each, said in judged]
    made += [
        with_findings(_input(document), answer, Judgement())
        for document, answer in answers.items()
        if document not in seen
    ]
    for number, case in enumerate(made, 1):
        yield msgspec.structs.replace(case, name=name if len(made) == 1 else f"{name} ({number})")


def _input(projection: bytes) -> BundleCase:
    return BundleCase(name="", projection=msgspec.Raw(projection))


def _judged(asked: RecordedQuestion, answer: PolicyAnswer | None, said: Judgement) -> BundleCase:
    """Return the case of one recorded question, with its findings.

    Nobody asks what an object needs that is no Pod, or counts signals.
    """
    document: dict[str, Any] = msgspec.json.decode(asked.document)
    case = msgspec.structs.replace(
        _input(asked.projection),
        context=_raw(document["context"]),
        kind=document["kind"],
    )
    if document["fields"]:
        case = msgspec.structs.replace(case, fields=_raw(document["fields"]))
    if answer is not None:
        return with_findings(case, answer, said)
    return msgspec.structs.replace(
        with_findings(case, PolicyAnswer(()), said), needs=None, signals=None
    )


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def _key(case: BundleCase) -> bytes:
    """Return the case without its name: two with the same bytes are one case."""
    return msgspec.json.encode(msgspec.structs.replace(case, name=""))
