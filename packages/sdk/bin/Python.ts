/** Writes the Python client's `_generated.py`: types, where each operation's parts go, and the methods of both clients. */
import { comment, declared, text } from "@posthorn/cli/types/Python"
import { type Document, namesAt, type Operation } from "./Document.ts"

export const RESERVED = [
  "Any",
  "AsyncIterator",
  "Iterator",
  "Literal",
  "NotRequired",
  "OnAnswer",
  "Operation",
  "TypeAlias",
  "TypedDict",
  "Unset"
]

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const tuple = (names: ReadonlyArray<string>) =>
  `(${names.map((name) => `${JSON.stringify(name)}, `).join("")})`

const answerOf = ({ answers, item }: Operation, isAsync: boolean) =>
  item === undefined
    ? answers.map(({ shape }) => (shape === null ? "None" : text(shape))).join(" | ")
    : `${isAsync ? "AsyncIterator" : "Iterator"}[${text(item)}]`

const docstring = (about: string) => {
  const lines = about.replaceAll("\\", "\\\\").replaceAll('"""', "'''").split("\n")
  return lines.length === 1
    ? [`        """${lines[0]}"""`]
    : [`        """${lines[0]}`, ...lines.slice(1).map((line) => `        ${line}`.trimEnd()), '        """']
}

const methodOf = (operation: Operation, isAsync: boolean) => {
  const { about, id, item, parameters } = operation
  const isCoroutine = isAsync && item === undefined
  return [
    "",
    `    ${isCoroutine ? "async " : ""}def ${snake(id)}(`,
    "        self,",
    "        *,",
    ...parameters.map(({ isRequired, name, shape }) =>
      isRequired
        ? `        ${snake(name)}: ${text(shape)},`
        : `        ${snake(name)}: ${text(shape)} | Unset = UNSET,`
    ),
    "        on_answer: OnAnswer | None = None,",
    `    ) -> ${answerOf(operation, isAsync)}:`,
    ...docstring(about),
    `        return ${isCoroutine ? "await " : ""}self._${item === undefined ? "call" : "items"}(`,
    `            OPERATIONS["${id}"],`,
    `            {${parameters.map(({ name }) => `"${name}": ${snake(name)}`).join(", ")}},`,
    "            on_answer,",
    "        )"
  ]
}

export const python = ({ errors, named, operations }: Document): string =>
  [
    "# Written by packages/sdk/bin/generate.ts from openapi.json: run `npm run clients` instead of changing it.",
    "from __future__ import annotations",
    "",
    "from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Iterator, Literal, NamedTuple, TypedDict",
    "",
    "if TYPE_CHECKING:",
    "    import httpx",
    "    from typing_extensions import NotRequired, TypeAlias",
    "",
    "    # Sees each answer: its etag, its rate limits, its x-trace-id.",
    "    OnAnswer: TypeAlias = Callable[[httpx.Response], None]",
    "",
    "",
    "class Unset:",
    '    """What is left out, where None would be sent as null."""',
    "",
    "",
    "UNSET = Unset()",
    "",
    "",
    "class Operation(NamedTuple):",
    "    method: str",
    "    path: str",
    "    query: tuple[str, ...]",
    "    headers: tuple[str, ...]",
    "    # 0: none, 1: where one of its members is given, 2: always.",
    "    body: int",
    "",
    "",
    ...declared(named),
    "",
    ...comment("`tag` of a PosthornError that Posthorn answered."),
    "ErrorTag: TypeAlias = Literal[",
    ...errors.map((tag) => `    "${tag}",`),
    "]",
    "",
    "OPERATIONS = {",
    ...operations.map(
      (operation) =>
        `    "${operation.id}": Operation("${operation.method}", "${operation.path}", ${tuple(namesAt(operation, "query"))}, ${tuple(namesAt(operation, "header"))}, ${operation.body}),`
    ),
    "}",
    ...[false, true].flatMap((isAsync) => [
      "",
      "",
      `class ${isAsync ? "AsyncOperations" : "Operations"}:`,
      `    ${isAsync ? "async " : ""}def _call(self, operation: Operation, params: dict[str, Any], on_answer: OnAnswer | None) -> Any:`,
      "        raise NotImplementedError",
      "",
      `    def _items(self, operation: Operation, params: dict[str, Any], on_answer: OnAnswer | None) -> ${isAsync ? "Async" : ""}Iterator[Any]:`,
      "        raise NotImplementedError",
      ...operations.flatMap((operation) => methodOf(operation, isAsync))
    ]),
    ""
  ].join("\n")
