"""`Posthorn` and `AsyncPosthorn`: each operation is a method with keyword arguments, a list is an iterator that asks for its pages.

What is refused with 429 or 503 is tried again after its `Retry-After`; what got no answer is tried again where that cannot do anything
twice: reads, and calls with an idempotency key. A call that takes a key and was given none gets one of its own, so that a publish
whose answer was lost happens once. It does not cache.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
import uuid
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, AsyncIterator, Iterator, Mapping
from urllib.parse import quote, urlencode

import httpx

from ._generated import UNSET, AsyncOperations, Operation, Operations

if TYPE_CHECKING:
    from ._generated import OnAnswer


class PosthornError(Exception):
    """What Posthorn answered in place of what was asked for, or why there is no answer.

    `tag` names the kind: an ErrorTag, `NoAnswer` (the connection failed, or the time was over; `status` is then 0), or `UnknownAnswer`
    (somebody else answered, such as a proxy). `facts` has all that the problem says, such as `issues` or `retryAfterSeconds`.
    """

    def __init__(self, tag: str, status: int, detail: str, facts: Mapping[str, Any]) -> None:
        super().__init__(f"{tag}: {detail}")
        self.tag = tag
        self.status = status
        self.detail = detail
        self.facts = facts


@dataclass(frozen=True)
class _Options:
    base: str
    token: str = field(repr=False)
    workspace: str | None
    retries: int
    max_wait: float


@dataclass(frozen=True)
class _Request:
    method: str
    url: str
    headers: dict[str, str] = field(repr=False)
    content: bytes | None
    is_safe: bool


def _options(url: str, token: str, workspace: str | None, retries: int, max_wait: float) -> _Options:
    if not re.match(r"https?://[^/]", url):
        raise ValueError(f"Not a URL: {url}")
    return _Options(url.rstrip("/"), token, workspace, retries, max_wait)


def _request(options: _Options, operation: Operation, params: Mapping[str, Any]) -> _Request:
    body = {name: value for name, value in params.items() if value is not UNSET}
    if "{workspace}" in operation.path and body.get("workspace") is None:
        body["workspace"] = options.workspace

    def part(match: re.Match[str]) -> str:
        value = body.pop(match[1], None)
        # These would lead to another operation.
        if value is None or str(value) in ("", ".", ".."):
            raise TypeError(f"{match[1]} is missing")
        return quote(str(value), safe="")

    url = options.base + re.sub(r"\{(\w+)\}", part, operation.path)
    query = {name: body.pop(name) for name in operation.query if name in body}
    if query:
        url += "?" + urlencode({name: _text(value) for name, value in query.items() if value is not None})
    # A publish has its key in the body; every other call in a header.
    is_publish = operation.method == "POST" and operation.path.endswith("/events")
    takes_key = options.retries > 0 and (is_publish or "idempotencyKey" in operation.headers)
    if takes_key and body.get("idempotencyKey") is None:
        body["idempotencyKey"] = str(uuid.uuid4())
    headers = {"authorization": f"Bearer {options.token}", "accept": "application/json"}
    for name in operation.headers:
        value = body.pop(name, None)
        if value is not None:
            headers[re.sub("[A-Z]", lambda match: "-" + match[0].lower(), name)] = str(value)
    content = None
    if operation.body == 2 or (operation.body == 1 and body):
        headers["content-type"] = "application/json"
        content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    return _Request(operation.method, url, headers, content, operation.method == "GET" or takes_key)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _problem(answer: httpx.Response) -> PosthornError:
    after = answer.headers.get("retry-after", "")
    waited = {"retryAfterSeconds": int(after)} if after.isdigit() else {}
    try:
        facts = answer.json()
        tag, detail = facts.pop("_tag"), facts.pop("detail")
        facts.pop("status")
        return PosthornError(tag, answer.status_code, detail, {**waited, **facts})
    except (ValueError, KeyError, AttributeError, TypeError):
        return PosthornError("UnknownAnswer", answer.status_code, answer.text[:200], waited)


def _wait(options: _Options, tries: int, request: _Request, outcome: httpx.Response | httpx.RequestError) -> float:
    """How long to wait before the next try; raises when there is none."""
    wait: float = min(0.25 * 2**tries, options.max_wait)
    if isinstance(outcome, httpx.RequestError):
        if tries >= options.retries or not request.is_safe:
            raise PosthornError("NoAnswer", 0, str(outcome) or type(outcome).__name__, {}) from outcome
        return wait
    error = _problem(outcome)
    wait = error.facts.get("retryAfterSeconds", wait)
    if tries >= options.retries or error.status not in (429, 503) or wait > options.max_wait:
        raise error
    return wait


def _value(answer: httpx.Response) -> Any:
    try:
        return answer.json() if answer.content else None
    except ValueError as error:
        raise PosthornError("UnknownAnswer", answer.status_code, answer.text[:200], {}) from error


class Posthorn(Operations):
    """`url` is where Posthorn is; `workspace` the slug that operations take where they name none; times are in seconds."""

    def __init__(
        self,
        *,
        url: str,
        token: str,
        workspace: str | None = None,
        retries: int = 3,
        max_wait: float = 10,
        timeout: float = 30,
    ) -> None:
        self._options = _options(url, token, workspace, retries, max_wait)
        self._http = httpx.Client(timeout=timeout)

    def close(self) -> None:
        """Closes the connections; `with Posthorn(…) as posthorn:` does it too."""
        self._http.close()

    def __enter__(self) -> Posthorn:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _call(self, operation: Operation, params: dict[str, Any], on_answer: OnAnswer | None) -> Any:
        request = _request(self._options, operation, params)
        tries = 0
        while True:
            outcome: httpx.Response | httpx.RequestError
            try:
                outcome = self._http.request(
                    request.method, request.url, headers=request.headers, content=request.content
                )
                if on_answer is not None:
                    on_answer(outcome)
                if outcome.is_success:
                    return _value(outcome)
            except httpx.RequestError as error:
                outcome = error
            time.sleep(_wait(self._options, tries, request, outcome))
            tries += 1

    def _items(self, operation: Operation, params: dict[str, Any], on_answer: OnAnswer | None) -> Iterator[Any]:
        while True:
            page = self._call(operation, params, on_answer)
            yield from page["items"]
            if page["nextCursor"] is None:
                return
            params = {**params, "cursor": page["nextCursor"]}


class AsyncPosthorn(AsyncOperations):
    """As Posthorn, with `await` and `async for`."""

    def __init__(
        self,
        *,
        url: str,
        token: str,
        workspace: str | None = None,
        retries: int = 3,
        max_wait: float = 10,
        timeout: float = 30,
    ) -> None:
        self._options = _options(url, token, workspace, retries, max_wait)
        self._http = httpx.AsyncClient(timeout=timeout)

    async def aclose(self) -> None:
        """Closes the connections; `async with AsyncPosthorn(…) as posthorn:` does it too."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncPosthorn:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _call(self, operation: Operation, params: dict[str, Any], on_answer: OnAnswer | None) -> Any:
        request = _request(self._options, operation, params)
        tries = 0
        while True:
            outcome: httpx.Response | httpx.RequestError
            try:
                outcome = await self._http.request(
                    request.method, request.url, headers=request.headers, content=request.content
                )
                if on_answer is not None:
                    on_answer(outcome)
                if outcome.is_success:
                    return _value(outcome)
            except httpx.RequestError as error:
                outcome = error
            await asyncio.sleep(_wait(self._options, tries, request, outcome))
            tries += 1

    async def _items(
        self, operation: Operation, params: dict[str, Any], on_answer: OnAnswer | None
    ) -> AsyncIterator[Any]:
        while True:
            page = await self._call(operation, params, on_answer)
            for item in page["items"]:
                yield item
            if page["nextCursor"] is None:
                return
            params = {**params, "cursor": page["nextCursor"]}
