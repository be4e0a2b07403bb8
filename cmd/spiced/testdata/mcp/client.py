"""Uses a server as client.mjs does, through the official SDK for Python or
through FastMCP, which the first argument names."""

import asyncio
import json
import pathlib
import sys

import fastmcp
import mcp
from fastmcp.client.transports import StdioTransport
from mcp.client.subscriptions import listen

which, given = sys.argv[1], json.loads(sys.argv[2])


def connection():
    """The client, not connected yet."""
    if which == "fastmcp":
        return fastmcp.Client(given.get("url") or StdioTransport(given["command"], given["args"], keep_alive=False))
    if "url" in given:
        return mcp.Client(given["url"])
    return mcp.Client(mcp.StdioServerParameters(command=given["command"], args=given["args"]))


async def call(client, name, arguments, progress=None):
    """What a call gives, or the error that the client makes of it."""
    try:
        if which == "fastmcp":
            result = await client.call_tool_mcp(name, arguments, progress_handler=progress)
        else:
            result = await client.call_tool(name, arguments, progress_callback=progress)
    except mcp.MCPError as e:
        return failure(e)
    return plain(result)


def failure(e):
    """What a client sees of an error."""
    return {"kind": type(e).__name__, "code": e.error.code, "message": e.error.message}


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def pages(read, what):
    """All pages of a list."""
    every, page = [], await read(cursor=None)
    while True:
        every.append([plain(entry) for entry in getattr(page, what)])
        if not page.next_cursor:
            return every
        page = await read(cursor=page.next_cursor)


def tools(client):
    return pages(client.list_tools_mcp if which == "fastmcp" else client.list_tools, "tools")


async def resources(client, saw):
    every = await pages(client.list_resources_mcp if which == "fastmcp" else client.list_resources, "resources")
    saw["resources"], saw["texts"] = [r for page in every for r in page if r["name"] in given["read"]], []
    for r in saw["resources"]:
        read = await client.read_resource(r["uri"])
        saw["texts"] += [plain(c) for c in (read if which == "fastmcp" else read.contents)]
    try:
        await client.read_resource("spiced://functions/nothing")
    except mcp.MCPError as e:
        saw["missing"] = failure(e)


async def cancel(client, saw):
    """Cancels a call when the server has said that it runs, after saying that
    it begins."""
    saw["progress"], enough = 0, asyncio.Event()

    async def report(*_):
        saw["progress"] += 1
        if saw["progress"] == 2:
            enough.set()

    running = asyncio.create_task(call(client, "slow", {}, report))
    await enough.wait()
    running.cancel()
    try:
        saw["cancelled"] = await running
    except asyncio.CancelledError:
        saw["cancelled"] = {"kind": "CancelledError"}


async def changed(client):
    """Waits until the server says that its tools changed."""
    async with listen(client.session, tools_list_changed=True) as news:
        pathlib.Path(given["file"]).write_text(given["text"])
        async for _ in news:
            return


async def main():
    saw = {}
    async with connection() as client:
        saw["revision"] = client.protocol_version
        saw["server"], saw["capabilities"] = plain(client.server_info), plain(client.server_capabilities)
        every = await tools(client)
        saw["pages"] = [[tool["name"] for tool in page] for page in every]
        saw["tool"] = next(tool for page in every for tool in page if tool["name"] == "haversine_km")
        saw["distance"] = await call(client, "haversine_km", given["coordinates"])
        saw["fails"] = await call(client, "fails", {})
        saw["invalid"] = await call(client, "haversine_km", {"lat1": "north"})
        saw["unknown"] = await call(client, "haversine", {})
        await resources(client, saw)
        await cancel(client, saw)
        await changed(client)
        saw["after"] = [tool["name"] for page in await tools(client) for tool in page]
    print(json.dumps(saw))


asyncio.run(main())
