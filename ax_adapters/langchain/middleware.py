"""AXMiddleware: a whole agent under AX, without wrapping its tools one by one."""

# No postponed annotations here: LangChain reads the raw ones of the state.
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.config import get_config

from ax_core import AX, AXError, Budget, Effect, Policy, PolicyError, keys
from ax_core.app.runs import ON_BUSY, RunBlock
from ax_core.dispatch import current_run

from ..bridge import Binding, check_mcp_hints, check_on_refusal, policies_for, tell_undeclared
from .chains import Chains, Ended
from .forks import begun, branched, run_in, with_run
from .guarding import guarded
from .results import teach
from .rounds import Rounds
from .wrap import AnyPolicy, by_hints, put_under, wrappable, wrapped


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
        self._ax, self._on_refusal, self._sync_bridge = ax, check_on_refusal(on_refusal), sync_bridge
        self._mcp_hints = check_mcp_hints(mcp_hints)
        self._default = (default_effect, timeout)
        self._policies = policies_for(policies or (), policies, default_effect, timeout)
        self._made: dict[tuple[str, str], Binding] = {}
        self._budget = budget
        self._chains = Chains(ax, budget, on_busy)
        self._rounds = Rounds(on_refusal, model_timeout)
        policies_for((), None, default_effect, timeout)
        Policy.of({} if default_effect is None else {"effect": default_effect}, timeout=timeout)
        teach(ax)

    # -- the run ---------------------------------------------------------------------------------------------

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Open the run of this turn, and take its session."""
        key, session = self._turn()
        if key is not None:
            self._chains.open(key, session)
        return {"ax_run": key}

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """:meth:`before_agent` on an event loop."""
        key, session = self._turn()
        if key is not None:
            await self._chains.aopen(key, session)
        return {"ax_run": key}

    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Close the run."""
        if (key := _key(state)) is not None:
            with suppress(Ended), self._chains.step(key, _session()):
                pass  # entered first, in case that another process opened it
            self._chains.close(key)
        return None

    async def aafter_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """:meth:`after_agent` on an event loop."""
        if (key := _key(state)) is not None:
            with suppress(Ended):
                async with self._chains.astep(key, _session()):
                    pass
            await self._chains.aclose(key)
        return None

    def _turn(self) -> tuple[str | None, str | None]:
        """(key of the run, session); no key where the calls belong to a run that somebody else opened."""
        conf = get_config().get("configurable") or {}
        if conf.get("ax_run") or (current_run.get() is not None and self._budget is None):
            return None, None
        session = _session()
        # The place of this step: the same when it is run again after a crash, new in each turn.
        key = f"agent:{keys.digest(session or '', str(conf.get('checkpoint_ns') or id(conf)))[:40]}"
        return begun(key, conf), session

    # -- the model -------------------------------------------------------------------------------------------

    def _tell_unused(self, tools: Iterable[Any]) -> None:
        names = {tool.get("name") if isinstance(tool, dict) else tool.name for tool in tools}
        if unused := sorted(set(self._policies) - names):
            self._ax.warn_once(
                f"policies= names {', '.join(unused)}, which no tool of this agent is called so far "
                f"(they are: {', '.join(sorted(map(str, names))) or 'none'})"
            )

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Count a decision round, and bound the step's time."""
        self._tell_unused(request.tools)
        rounds = self._rounds
        if (key := _key(request.state)) is None:
            block = self._enclosing()
            if block is None:
                return rounds.alone(lambda: handler(request))
            return rounds.step(block, lambda: handler(request))
        try:
            with self._chains.step(key, _session()) as block:
                return with_run(rounds.step(block, lambda: handler(request)), key, request.state)
        except Ended as ended:
            return rounds.cut_short(ended.run, ended.verdict) or rounds.alone(lambda: handler(request))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """:meth:`wrap_model_call` on an event loop."""
        self._tell_unused(request.tools)
        rounds = self._rounds
        if (key := _key(request.state)) is None:
            block = self._enclosing()
            if block is None:
                return await rounds.aalone(lambda: handler(request))
            return await rounds.astep(block, lambda: handler(request))
        try:
            async with self._chains.astep(key, _session()) as block:
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
        key = _key(request.state)
        if key is None:
            return handler(guarded(request, lambda tool: self._guard(tool, self._on_refusal)))
        try:
            with self._chains.step(key, _session()):
                return handler(guarded(request, lambda tool: self._guard(tool, self._ending)))
        except Ended as ended:
            return self._refused(request, ended.verdict)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """:meth:`wrap_tool_call` on an event loop."""
        key = _key(request.state)
        if key is None:
            return await handler(guarded(request, lambda tool: self._guard(tool, self._on_refusal)))
        try:
            async with self._chains.astep(key, _session()):
                return await handler(guarded(request, lambda tool: self._guard(tool, self._ending)))
        except Ended as ended:
            return self._refused(request, ended.verdict)

    def _refused(self, request: Any, verdict: AXError) -> ToolMessage:
        """What the model reads of a call in a run that has ended."""
        if self._on_refusal == "raise":
            raise verdict
        asked = request.tool_call
        return ToolMessage(verdict.for_model, tool_call_id=asked["id"], name=asked["name"], status="error")

    @property
    def _ending(self) -> str:
        """In a run of ours the next step of the model ends the agent, so that no refusal need be raised."""
        return "end" if self._on_refusal == "return" else self._on_refusal

    def _guard(self, tool: BaseTool, on_refusal: str) -> BaseTool:
        if wrapped(tool):
            return tool
        binding = self._made.get((tool.name, on_refusal))
        if binding is None:
            wrappable(tool)
            policy = self._policies.get(tool.name)
            if policy is None:
                policy = policies_for([tool.name], None, *self._default)[tool.name]
                policy = by_hints(tool, policy, self._mcp_hints)
                tell_undeclared(self._ax, {tool.name: policy})
            binding = self._made[tool.name, on_refusal] = Binding(
                self._ax, policy, on_refusal, self._sync_bridge
            )
        return put_under(tool, binding)


def _key(state: Any) -> str | None:
    key = run_in(state)
    return None if key is None else branched(key, get_config().get("configurable") or {})


def _session() -> str | None:
    thread = (get_config().get("configurable") or {}).get("thread_id")
    return str(thread) if thread else None
