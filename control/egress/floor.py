"""The policies of the cluster itself, where the operator wants them (`egress.floor`)."""

from collections.abc import Callable
from dataclasses import dataclass

from control.egress.cluster_state import CLUSTER, State
from control.egress.desired_state import Wanting
from control.egress.plan import Apply, Json, plan_of
from control.egress.reconciler import Outcome
from control.egress.writer import NameTakenError, Writer
from core.base.errors import ClusterError
from kube.leader.lease import Leadership


@dataclass
class Floor:
    """Keeps them; where they are not wanted, it takes away what is left of them."""

    state: State
    wanting: Wanting
    writer: Writer
    make: Callable[[], tuple[Json, ...]]
    """Gives the floor; nothing where it is not wanted."""

    async def run(self, leadership: Leadership) -> Outcome:
        """Look at them once, and write what differs.

        Raises:
            ClusterError: kube-apiserver does not answer.
            NotLeaderError: leadership was lost.
        """
        floor = self.make()
        beyond = sorted(self.wanting.beyond.items())
        wanted = [*floor, *(each for _, some in beyond for each in some)] if floor else []
        live = tuple(self.state.policies.get(CLUSTER, {}).values())
        plan = plan_of(wanted, live)
        taken = [each.name for each in plan.taken]
        failures: list[str] = []
        for step in plan.steps:
            try:
                written = await self.writer.do(leadership, step)
            except NameTakenError as error:
                taken.append(str(error))
            except ClusterError as error:
                if not error.status:
                    raise
                failures.append(str(error))
            else:
                if written is not None:
                    self.state.wrote(written)
                elif not isinstance(step, Apply):
                    self.state.deleted(step.live)
        return Outcome(taken=tuple(taken), writes=len(plan.steps), failures=tuple(failures))
