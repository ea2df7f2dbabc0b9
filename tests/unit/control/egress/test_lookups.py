"""Answers that are remembered: when they are asked for again, and what a failure leaves."""

from control.egress.lookups import RIGHT_AGE_S, SERVICE_AGE_S, SETTLE_S, CachedAnswers
from core.base.errors import AccessReviewError


class Asked:
    """What answers, and when."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.values: dict[str, int] = {"a": 1, "b": 2}
        self.asked: list[str] = []
        self.fails = False
        self.answers = CachedAnswers(self.ask, 40.0, lambda: self.now)

    async def ask(self, key: str) -> int:
        """Answer, or fail."""
        self.asked.append(key)
        if self.fails:
            raise AccessReviewError("did not say")
        return self.values[key]


def test_rights_and_pods_are_asked_for_again_within_a_minute() -> None:
    """With the time that it takes to come round."""
    assert max(RIGHT_AGE_S, SERVICE_AGE_S) <= 50


async def test_each_is_asked_for_once_until_it_is_old() -> None:
    """And what changed by then is told."""
    asked = Asked()
    assert await asked.answers.learn(["a", "b"]) == ""
    assert await asked.answers.learn(["a", "b"]) == ""
    assert sorted(asked.asked) == ["a", "b"]
    assert await asked.answers.refresh(["a", "b"], 9) == []
    asked.now += 41
    asked.values["b"] = 3
    assert await asked.answers.refresh(["a", "b"], 9) == ["b"]
    assert asked.answers.get("b") == 3


async def test_a_failure_leaves_the_last_answer_and_says_so() -> None:
    """Fail static; what was never known stays unknown, and is asked for the next time."""
    asked = Asked()
    await asked.answers.learn(["a"])
    asked.fails = True
    asked.now += 41
    assert await asked.answers.refresh(["a"], 9) == ["a"], "who shows it is told"
    assert (asked.answers.get("a"), asked.answers.problem("a")) == (1, "did not say")
    assert await asked.answers.learn(["b"]) == "did not say"
    assert asked.answers.get("b") is None
    asked.fails = False
    assert await asked.answers.learn(["b"]) == ""
    asked.now += 41
    assert await asked.answers.refresh(["a", "b"], 9) == ["a"]
    assert asked.answers.problem("a") == ""


async def test_what_is_distrusted_is_asked_for_soon_but_not_at_once_again() -> None:
    """A Service that rolls over is looked at twice a second at most."""
    asked = Asked()
    await asked.answers.learn(["a", "b"])
    asked.answers.distrust("a")
    asked.answers.distrust("unknown")
    assert await asked.answers.refresh(["a", "b"], 9) == []
    asked.now += SETTLE_S
    asked.values["a"] = 7
    assert await asked.answers.refresh(["a", "b"], 9) == ["a"]
    assert asked.asked.count("b") == 1


async def test_what_nobody_wants_is_forgotten_and_few_are_asked_at_a_time() -> None:
    """The oldest come first."""
    asked = Asked()
    await asked.answers.learn(["a"])
    asked.now += 10
    await asked.answers.learn(["b"])
    asked.now += 50
    asked.asked.clear()
    await asked.answers.refresh(["a", "b"], 1)
    assert asked.asked == ["a"]
    await asked.answers.refresh(["a"], 0)
    assert asked.answers.get("b") is None
