/**
 * Mutants of a TypeScript source: each changes one operator, literal, condition or list element. Texts that only inform
 * people (members' texts, types, messages) are left alone.
 *
 * A name consists of the file, the line's text and the change, so it stays valid when other lines change.
 */
import { parseSync } from "@swc/core"

export interface Mutant {
  readonly name: string
  readonly source: string
}

interface Node {
  readonly type: string
  readonly span?: { readonly start: number; readonly end: number }
  readonly [member: string]: unknown
}

interface Change {
  readonly start: number
  readonly end: number
  readonly to: string
}

const OPERATORS: Readonly<Record<string, ReadonlyArray<string>>> = {
  "===": ["!=="],
  "!==": ["==="],
  "<": ["<=", ">="],
  "<=": ["<"],
  ">": [">=", "<="],
  ">=": [">"],
  "&&": ["||"],
  "||": ["&&"],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
  "**": ["*"],
  ">>": ["<<"],
  "&": ["|"],
  "^": ["&"]
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as Node).type === "string"

/** Also visits nodes without a type of their own: a method's function, an argument, a part of a pattern. */
const childrenOf = (value: unknown): ReadonlyArray<Node> =>
  Object.values(value as object).flatMap((each: unknown) =>
    isNode(each) ? [each] : typeof each === "object" && each !== null ? childrenOf(each) : []
  )

/** Types are erased; imports and exports only name things. */
const isSkipped = ({ type }: Node) => /^Ts(?!As|NonNull|Const|Satisfies)|^Import|^ExportNamed/.test(type)

/** swc counts bytes from 1. */
const within = (node: Node) => ({ start: node.span!.start - 1, end: node.span!.end - 1 })

const changesOf = (
  node: Node,
  text: (part: { start: number; end: number }) => string
): ReadonlyArray<Change> => {
  const here = node.span === undefined ? undefined : within(node)
  if (here === undefined) return []
  const replaced = (to: string): Change => ({ ...here, to })
  const operands = () => [node.left as Node, node.right as Node].map((each) => text(within(each)))
  switch (node.type) {
    case "BinaryExpression": {
      const [left, right] = operands()
      return (OPERATORS[node.operator as string] ?? []).map((operator) =>
        replaced(`${left} ${operator} ${right}`)
      )
    }
    case "ConditionalExpression":
      return ["true", "false"].map((test) => ({ ...within(node.test as Node), to: test }))
    case "IfStatement":
      return [{ ...within(node.test as Node), to: "false" }]
    case "UnaryExpression":
      return node.operator === "!" ? [replaced(text(within(node.argument as Node)))] : []
    case "BooleanLiteral":
      return [replaced(node.value === true ? "false" : "true")]
    case "NumericLiteral":
      return [replaced(String((node.value as number) + 1))]
    case "ArrayExpression":
      return (node.elements as ReadonlyArray<{ readonly expression: Node } | null>).flatMap((element) =>
        element !== null && element.expression.type === "StringLiteral"
          ? [{ ...within(element.expression), to: "...[]" }]
          : []
      )
    default:
      return []
  }
}

const walk = (node: Node): ReadonlyArray<Node> =>
  isSkipped(node) ? [] : [node, ...childrenOf(node).flatMap(walk)]

const lineAt = (source: Buffer, at: number) => {
  const start = source.lastIndexOf("\n", at - 1) + 1
  const end = source.indexOf("\n", at)
  return source
    .subarray(start, end < 0 ? undefined : end)
    .toString()
    .trim()
}

/** `file` is the name under which the mutants are listed. */
export const mutantsOf = (file: string, source: string): ReadonlyArray<Mutant> => {
  const bytes = Buffer.from(source)
  const text = ({ end, start }: { start: number; end: number }) => bytes.subarray(start, end).toString()
  const module = parseSync(source, { syntax: "typescript", target: "es2022" }) as unknown as Node
  const seen = new Map<string, number>()
  return walk(module)
    .flatMap((node) => changesOf(node, text))
    .toSorted((a, b) => a.start - b.start)
    .map((change) => {
      const { end, start, to } = change
      const name = `${file}: ${lineAt(bytes, start)} [${text(change)} → ${to}]`
      const times = (seen.get(name) ?? 0) + 1
      seen.set(name, times)
      return {
        name: times === 1 ? name : `${name} (${times})`,
        source: `${bytes.subarray(0, start)}${to}${bytes.subarray(end)}`
      }
    })
}
