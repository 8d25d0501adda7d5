"""Six ordinary LangChain tools of a support agent; only `send_mail` knows AX, in one line, for its key."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, tool

from ax_adapters.demo.client import OrderService, Refused
from ax_core import Effect, Policy, current

POLICIES: dict[str, Policy | Effect | str] = {
    "get_order": "read",
    "search_orders": "read",
    "refund": Policy(Effect.UNSAFE, not_applied=(Refused,)),
    "send_mail": "keyed",
    "delete_order": Policy(Effect.UNSAFE, confirm=True),
    # says nothing about its effect, on purpose: AX must be of use before anybody declares anything
    "adjust_stock": Policy(timeout=0.5),
}
STOCK_SCHEMA = {  # as an MCP server hands it over: a JSON Schema, which LangChain passes on without checking
    "type": "object",
    "properties": {"sku": {"type": "string"}, "delta": {"type": "integer"}},
    "required": ["sku", "delta"],
}


def order_tools(service: OrderService) -> list[BaseTool]:
    """The tools as their author would write them."""

    @tool
    def get_order(order_id: str) -> dict[str, Any]:
        """Look up one order."""
        return service.get(f"/orders/{order_id}")

    @tool
    def search_orders(text: str) -> dict[str, Any]:
        """Find orders by id, item or status."""
        return service.get("/search", q=text)

    @tool
    def refund(order_id: str, amount: float | None = None) -> dict[str, Any]:
        """Pay money back. Without an amount the whole order is refunded."""
        return service.post("/refunds", {"order_id": order_id, "amount": amount})

    @tool
    def send_mail(to: str, text: str) -> dict[str, Any]:
        """Write to a customer."""
        return service.post("/mails", {"to": to, "text": text}, key=current().idempotency_key)

    @tool
    def delete_order(order_id: str) -> dict[str, Any]:
        """Delete an order for good."""
        return service.post(f"/orders/{order_id}/delete", {})

    def move_stock(sku: str, delta: int) -> dict[str, Any]:
        return service.post("/stock", {"sku": sku, "delta": delta})

    adjust_stock = StructuredTool(
        name="adjust_stock",
        description="Move the stock of an article up or down.",
        args_schema=STOCK_SCHEMA,
        func=move_stock,
    )
    tools = [get_order, search_orders, refund, send_mail, delete_order, adjust_stock]
    for each in tools:
        each.handle_tool_error = True  # the usual setting: the model reads what went wrong and goes on
    return tools
