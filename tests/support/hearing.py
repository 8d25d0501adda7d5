"""A callback handler that writes down what it hears."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import BaseCallbackHandler


class Hearing(BaseCallbackHandler):
    """Callbacks around tools: each ``(kind, details…)``, run ids last."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []

    def on_tool_start(
        self,
        serialized: Any,
        input_str: str,
        *,
        run_id: Any,
        parent_run_id: Any = None,
        tags: Any = None,
        metadata: Any = None,
        inputs: Any = None,
        **more: Any,
    ) -> None:
        plain = {k: v for k, v in (metadata or {}).items() if not k.startswith(("ls_", "lg"))}
        details = (
            serialized.get("name"),
            input_str,
            inputs,
            sorted(tags or []),
            plain,
            more.get("tool_call_id"),
        )
        self.heard.append(("start", *details, run_id))

    def on_tool_end(self, output: Any, *, run_id: Any, **more: Any) -> None:
        self.heard.append(("end", type(output).__name__, run_id))

    def on_tool_error(self, error: BaseException, *, run_id: Any, **more: Any) -> None:
        self.heard.append(("error", type(error).__name__, run_id))

    def on_chain_start(self, *args: Any, run_id: Any, parent_run_id: Any = None, **more: Any) -> None:
        self.heard.append(("chain", parent_run_id))

    def on_retriever_start(self, *args: Any, run_id: Any, parent_run_id: Any = None, **more: Any) -> None:
        self.heard.append(("retriever", parent_run_id))

    @property
    def kinds(self) -> list[str]:
        """What happened, without details."""
        return [each[0] for each in self.heard]

    @property
    def facts(self) -> list[tuple[Any, ...]]:
        """What happened, without run ids: the same for two runs of the same call."""
        return [each[:-1] for each in self.heard]

    @property
    def tool_run(self) -> Any:
        """The run id of the first tool."""
        return next(each[-1] for each in self.heard if each[0] == "start")
