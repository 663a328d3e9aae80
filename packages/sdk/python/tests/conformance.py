"""Calls the clients for packages/sdk/test/Conformance.deep.test.ts: a call on each line of the input, its outcome on each line of the
output. Methods are found by their operation's id; `async` as the only argument takes AsyncPosthorn."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from typing import Any, AsyncIterator, Iterator

from posthorn import AsyncPosthorn, Posthorn, PosthornError, VerificationError, verify


def snake(name: str) -> str:
    return re.sub("[A-Z]", lambda match: "_" + match[0].lower(), name)


async def perform(given: dict[str, Any], made: dict[str, Any]) -> Any:
    if "verify" in given:
        asked = given["verify"]
        return verify(secrets=asked["secrets"], headers=asked["headers"], body=asked["body"], now=asked["now"])._asdict()
    params = {snake(name): value for name, value in given["params"].items()}
    params.update({snake(name): None for name in given.get("nulls", [])})
    params["on_answer"] = lambda answer: made.update(etag=answer.headers.get("etag", ""))
    name = snake(given["call"])
    if sys.argv[1:] == ["async"]:
        async with AsyncPosthorn(**given["client"]) as client:
            result = getattr(client, name)(**params)
            if isinstance(result, AsyncIterator):
                return [item async for item in result]
            return await result
    with Posthorn(**given["client"]) as client:
        result = getattr(client, name)(**params)
        return list(result) if isinstance(result, Iterator) else result


async def outcome(given: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    try:
        made["value"] = await perform(given, made)
    except PosthornError as error:
        made["error"] = {"tag": error.tag, "status": error.status, "detail": error.detail, "facts": dict(error.facts)}
    except VerificationError as error:
        made["error"] = {"tag": error.reason}
    except TypeError as error:
        made["error"] = {"tag": "other", "detail": str(error)}
    return made


for line in sys.stdin:
    print(json.dumps(asyncio.run(outcome(json.loads(line)))), flush=True)
