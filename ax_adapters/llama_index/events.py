"""What a workflow tells and hears about a call that a person must approve."""

from typing import Any, Literal, Self

from llama_index.core.bridge.pydantic import Field, model_validator
from llama_index.core.workflow import HumanResponseEvent, InputRequiredEvent

from ..bridge import DECISIONS

Kind = Literal["approve", "edit", "reject", "respond", "decided"]


class ApprovalDecision(HumanResponseEvent):
    """A person's answer to an :class:`ApprovalRequired`; send it into the workflow's context.

    Attributes:
        ax_task_id: the call it is about.
        decision: ``"approve"``, ``"edit"`` (with ``args``), ``"reject"`` or ``"respond"`` (with ``message``: the
            answer in the tool's place); ``"decided"``: it was decided elsewhere, look at the record.
        by: who decided.

    Raises:
        ValidationError: no such decision, or one without what belongs to it.
    """

    ax_task_id: str
    decision: Kind
    by: str = Field(default="llama_index", min_length=1)
    args: dict[str, Any] | None = None
    message: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.decision == "edit") != (self.args is not None):
            raise ValueError(
                "args= are the edited arguments: they go with decision='edit', and only with that"
            )
        if self.decision == "respond" and not self.message:
            raise ValueError("decision='respond' needs message=, which the model reads as the tool's answer")
        return self


class ApprovalRequired(InputRequiredEvent):
    """A tool call is on record and waits for a person; answer with ``event.answer("approve", by="ann")``.

    Attributes:
        ax_task_id, ax_run_id: the call and its run.
        name, args: the tool, and the arguments that will be run.
        prefix: a sentence for people.
        ax_expires_at: when the question lapses, ISO 8601.
        problem: why an answer given before was none.
    """

    ax_task_id: str
    ax_run_id: str
    name: str
    args: Any
    prefix: str
    tool_call_id: str | None = None
    allowed_decisions: list[str] = Field(default_factory=lambda: list(DECISIONS))
    ax_expires_at: str | None = None
    problem: str | None = None

    def answer(
        self,
        decision: Kind,
        *,
        by: str = "llama_index",
        args: dict[str, Any] | None = None,
        message: str | None = None,
    ) -> ApprovalDecision:
        """The event that decides this one."""
        return ApprovalDecision(
            ax_task_id=self.ax_task_id, decision=decision, by=by, args=args, message=message
        )
