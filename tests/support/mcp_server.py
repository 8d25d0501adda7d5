"""An MCP server with a tool of each kind: ``python mcp_server.py FOLDER [PORT]``; over stdio where no port is given.

What it did is in FOLDER/effects, a line each; FOLDER/keys has the idempotency keys that came with the calls.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

from mcp.server.fastmcp import Context, FastMCP, Image
from mcp.types import CallToolResult, ImageContent, TextContent, ToolAnnotations

FOLDER = Path(sys.argv[1])
server = FastMCP("sample", port=int(sys.argv[2]) if len(sys.argv) > 2 else 0, log_level="ERROR")
PIXEL = bytes.fromhex("89504e470d0a1a0a")


def did(what: str) -> None:
    with (FOLDER / "effects").open("a") as file:
        file.write(f"{what}\n")


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def look(n: int) -> str:
    """Looks."""
    did(f"look {n}")
    return f"saw {n}"


@server.tool(annotations=ToolAnnotations(destructiveHint=True))
def wipe(n: int) -> str:
    """Wipes."""
    did(f"wipe {n}")
    return f"wiped {n}"


@server.tool(annotations=ToolAnnotations(destructiveHint=True, idempotentHint=True))
def put(n: int) -> str:
    """Puts."""
    did(f"put {n}")
    return f"put {n}"


@server.tool()
def send(n: int, ctx: Context[Any, Any, Any]) -> str:
    """Sends, and notes the key that came along."""
    did(f"send {n}")
    meta = ctx.request_context.meta
    given = (meta.model_extra or {}) if meta is not None else {}
    with (FOLDER / "keys").open("a") as file:
        file.write(f"{given.get('ax/idempotency_key')}\n")
    return f"sent {n}"


@server.tool()
def draw(n: int) -> CallToolResult:
    """Text, a picture and structured content."""
    did(f"draw {n}")
    return CallToolResult(
        content=[
            TextContent(type="text", text=f"drawn {n}"),
            ImageContent(
                type="image",
                data=Image(data=PIXEL, format="png").to_image_content().data,
                mimeType="image/png",
            ),
        ],
        structuredContent={"n": n, "at": [1, 2]},
    )


@server.tool()
def fail(n: int) -> CallToolResult:
    """Says no, with a picture."""
    did(f"fail {n}")
    return CallToolResult(
        content=[
            TextContent(type="text", text=f"no {n}"),
            ImageContent(type="image", data="AAAA", mimeType="image/png"),
        ],
        isError=True,
    )


@server.tool()
async def hang(n: int) -> str:
    """Takes a minute."""
    did(f"hang {n}")
    await asyncio.sleep(60)
    return "late"


if __name__ == "__main__":
    server.run("streamable-http" if len(sys.argv) > 2 else "stdio")
