"""What an agent's process imports, imported once for all that are forked from here."""

import langchain.agents  # noqa: F401
import langgraph.checkpoint.sqlite
import langgraph.checkpoint.sqlite.aio  # noqa: F401

import ax_adapters.langchain  # noqa: F401
import ax_core.app.core
import ax_core.dispatch.aloop
import ax_core.store.migrate  # noqa: F401
from support import scripted  # noqa: F401
