"""`python -m bench.people`: the CPU that People and rights adds to a review, in interleaved pairs.

One gate notes, traces, and looks for exceptions and break glass; in the other, the same otherwise,
all of that does nothing (`bench.without_people`).
"""

from bench.added import Added, Case, measure_added
from bench.reviews import GANG, USUAL
from bench.rig import UNCACHED


def main() -> None:
    """Measure, and print what was added."""
    measure_added(
        Added(
            program="bench.people",
            described=__doc__,
            without="bench.without_people",
            cases={"uncached": Case(USUAL, 100, UNCACHED), "a gang": Case(GANG, 40)},
            against="the same gate in which nobody is noted or traced, and no exception, "
            "BreakGlass or default is looked for",
            page="people",
        )
    )


if __name__ == "__main__":
    main()
