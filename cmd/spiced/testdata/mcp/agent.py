"""Calls an agent as a tool through the official MCP SDK for Python."""

import asyncio
import json
import sys

import mcp

url, agent, task = sys.argv[1:4]


async def main():
    progress = []

    async def report(*step):
        progress.append(step[-1])

    async with mcp.Client(url) as client:
        listed = await client.list_tools()
        tool = next(tool for tool in listed.tools if tool.name == agent)
        result = await client.call_tool(agent, {"task": task}, progress_callback=report)
        refused = await client.call_tool(agent, {})
    print(json.dumps({
        "names": [tool.name for tool in listed.tools], "description": tool.description,
        "text": result.content[0].text, "isError": result.is_error,
        "progress": len(progress), "refused": refused.content[0].text, "refusedIsError": refused.is_error,
    }))


asyncio.run(main())
