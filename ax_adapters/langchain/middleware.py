"""AXMiddleware: a whole agent under AX, without wrapping its tools one by one."""

# No postponed annotations here: LangChain reads the raw ones of the state.
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import ToolMessage

from ax_core import AX, AXError, Budget, Effect, PolicyError
from ax_core.app.runs import ON_BUSY, RunBlock
from ax_core.dispatch import current_run

from .chain import Ended
from .chains import Chains
from .forks import with_run
from .guarded_request import guarded
from .guards import Guards
from .results import teach
from .rounds import Rounds
from .turns import begins, key_in, session
from .wrap import AnyPolicy


class AXState(AgentState[Any]):
    """The agent's state, and which run it works in: the same on resume, new in each turn."""

    ax_run: NotRequired[Annotated[str | None, PrivateStateAttr]]


class AXMiddleware(AgentMiddleware[Any, Any, Any]):
    """Every tool call of an agent goes through AX, and a turn of the agent is one run.

    Also as ``ToolNode(tools, wrap_tool_call=m.wrap_tool_call, awrap_tool_call=m.awrap_tool_call)``.

    Args:
        policies: by tool name; ``default_effect`` is for the tools it does not name. A name that no tool of the agent
            has is warned of, once, at the first step of the model: not refused, for tools may come later.
        timeout, on_refusal, sync_bridge, mcp_hints: as in :func:`wrap_tools`.
        budget: of each turn; default 50 tool calls.
        model_timeout: seconds for one step of the model.
        on_busy: for a second chain on the same thread: ``"refuse"`` it, ``"wait"``, or ``"supersede"`` the first.

    Raises:
        PolicyError: an invalid policy or option.
    """

    state_schema = AXState

    def __init__(
        self,
        ax: AX,
        *,
        policies: Mapping[str, AnyPolicy] | None = None,
        default_effect: Effect | str | None = None,
        timeout: float | None = None,
        on_refusal: str = "return",
        budget: Budget | None = None,
        model_timeout: float | None = None,
        on_busy: str = "refuse",
        sync_bridge: bool = False,
        mcp_hints: str = "tighten",
    ) -> None:
        super().__init__()
        if on_busy not in ON_BUSY:
            raise PolicyError(f"on_busy={on_busy!r} is unknown; one of {', '.join(map(repr, ON_BUSY))}")
        if model_timeout is not None and not model_timeout > 0:
            raise PolicyError(f"model_timeout={model_timeout!r} must be seconds above zero")
        self._ax, self._budget = ax, budget
        self._guards = Guards(ax, policies, default_effect, timeout, on_refusal, sync_bridge, mcp_hints)
        self._chains = Chains(ax, budget, on_busy)
        self._rounds = Rounds(on_refusal, model_timeout)
        teach(ax)

    # -- the run ---------------------------------------------------------------------------------------------

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Open the run of this turn, and take its session."""
        if (key := begins(self._budget is not None)) is not None:
            self._chains.open(key, session())
        return {"ax_run": key}

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """:meth:`before_agent` on an event loop."""
        if (key := begins(self._budget is not None)) is not None:
            await self._chains.aopen(key, session())
        return {"ax_run": key}

    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Close the run."""
        if (key := key_in(state)) is not None:
            with suppress(Ended), self._chains.step(key, session()):
                pass  # entered first, in case that another process opened it
            self._chains.close(key)
        return None

    async def aafter_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """:meth:`after_agent` on an event loop."""
        if (key := key_in(state)) is not None:
            with suppress(Ended):
                async with self._chains.astep(key, session()):
                    pass
            await self._chains.aclose(key)
        return None

    # -- the model -------------------------------------------------------------------------------------------

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Count a decision round, and bound the step's time."""
        self._guards.tell_unused(request.tools)
        rounds = self._rounds
        if (key := key_in(request.state)) is None:
            block = self._enclosing()
            if block is None:
                return rounds.alone(lambda: handler(request))
            return rounds.step(block, lambda: handler(request))
        try:
            with self._chains.step(key, session()) as block:
                return with_run(rounds.step(block, lambda: handler(request)), key, request.state)
        except Ended as ended:
            return rounds.cut_short(ended.run, ended.verdict) or rounds.alone(lambda: handler(request))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """:meth:`wrap_model_call` on an event loop."""
        self._guards.tell_unused(request.tools)
        rounds = self._rounds
        if (key := key_in(request.state)) is None:
            block = self._enclosing()
            if block is None:
                return await rounds.aalone(lambda: handler(request))
            return await rounds.astep(block, lambda: handler(request))
        try:
            async with self._chains.astep(key, session()) as block:
                return with_run(await rounds.astep(block, lambda: handler(request)), key, request.state)
        except Ended as ended:
            return rounds.cut_short(ended.run, ended.verdict) or await rounds.aalone(lambda: handler(request))

    def _enclosing(self) -> RunBlock | None:
        scope = current_run.get()
        if scope is None:
            return None
        block = self._ax.run()
        block.id = scope.id
        return block

    # -- the tools -------------------------------------------------------------------------------------------

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Let the tool go through AX, whoever supplies it."""
        key = key_in(request.state)
        if key is None:
            return handler(guarded(request, self._guards.over))
        try:
            with self._chains.step(key, session()):
                return handler(guarded(request, self._guards.over_in_a_run))
        except Ended as ended:
            return self._refused(request, ended.verdict)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """:meth:`wrap_tool_call` on an event loop."""
        key = key_in(request.state)
        if key is None:
            return await handler(guarded(request, self._guards.over))
        try:
            async with self._chains.astep(key, session()):
                return await handler(guarded(request, self._guards.over_in_a_run))
        except Ended as ended:
            return self._refused(request, ended.verdict)

    def _refused(self, request: Any, verdict: AXError) -> ToolMessage:
        """What the model reads of a call in a run that has ended."""
        if self._guards.on_refusal == "raise":
            raise verdict
        asked = request.tool_call
        return ToolMessage(verdict.for_model, tool_call_id=asked["id"], name=asked["name"], status="error")
