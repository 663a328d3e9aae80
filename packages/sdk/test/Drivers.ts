/**
 * The clients under test, each asked in the same way: TypeScript's here, Python's and Go's as processes that read a call on each
 * line and write its outcome. On a machine without Go or Python's httpx a client is left out, and said to be; in CI nothing is.
 */
import { spawn, spawnSync } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { Posthorn, PosthornError, VerificationError, verify } from "../src/index.ts"

export interface Call {
  readonly client?: {
    readonly url: string
    readonly token: string
    readonly workspace: string
    readonly retries: number
  }
  /** An operation's id. */
  readonly call?: string
  readonly params?: Readonly<Record<string, unknown>>
  /** Members to be sent as null: Go's way to tell them from what is left out. */
  readonly nulls?: ReadonlyArray<string>
  readonly verify?: {
    readonly secrets: ReadonlyArray<string>
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
    readonly now: number
  }
}

export interface Outcome {
  readonly value?: unknown
  readonly etag?: string
  readonly error?: {
    readonly tag: string
    readonly status: number
    readonly detail: string
    readonly facts: Readonly<Record<string, unknown>>
  }
}

export interface Driver {
  readonly ask: (call: Call) => Promise<Outcome>
  readonly close: () => void
}

const folder = (name: string) => fileURLToPath(new URL(`../../${name}/`, import.meta.url))

const inProcess = (): Driver => ({
  close: () => undefined,
  ask: async ({ call, client, nulls = [], params, verify: asked }) => {
    let etag = ""
    try {
      if (asked !== undefined) return { value: await verify(asked) }
      const methods = new Posthorn(client!) as unknown as Record<
        string,
        (...given: ReadonlyArray<unknown>) => unknown
      >
      const all = { ...params, ...Object.fromEntries(nulls.map((name) => [name, null])) }
      const result = methods[call!]!(all, {
        onAnswer: (answer: Response) => {
          etag = answer.headers.get("etag") ?? ""
        }
      })
      if (result instanceof Promise) return { value: await result, etag }
      const items: Array<unknown> = []
      for await (const item of result as AsyncIterable<unknown>) items.push(item)
      return { value: items, etag }
    } catch (error) {
      if (error instanceof VerificationError)
        return { error: { tag: error.reason, status: 0, detail: "", facts: {} } }
      // As the other drivers say of a call that is not sent.
      if (error instanceof TypeError)
        return { error: { tag: "other", status: 0, detail: error.message, facts: {} } }
      if (!(error instanceof PosthornError)) throw error
      const { detail, facts, status, tag } = error
      return { error: { tag, status, detail, facts }, etag }
    }
  }
})

const process_ = (
  command: string,
  args: ReadonlyArray<string>,
  cwd: string,
  env: NodeJS.ProcessEnv = {}
): Driver => {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "inherit"]
  })
  const waiting: Array<{
    readonly resolve: (one: Outcome) => void
    readonly reject: (error: Error) => void
  }> = []
  createInterface({ input: child.stdout }).on("line", (line) => waiting.shift()?.resolve(JSON.parse(line)))
  child.once("close", (code) => {
    for (const { reject } of waiting) reject(new Error(`${command} ended with ${code}`))
  })
  return {
    ask: (call) =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve, reject })
        child.stdin.write(`${JSON.stringify(call)}\n`)
      }),
    close: () => void child.kill("SIGKILL")
  }
}

const works = (command: string, ...args: ReadonlyArray<string>) => spawnSync(command, args).status === 0

// Debian's Python has Debian's packages, whichever Python comes first in the path.
export const PYTHON = "/usr/bin/python3"
const python = (...args: ReadonlyArray<string>) =>
  process_(PYTHON, ["tests/conformance.py", ...args], folder("sdk/python"), { PYTHONPATH: "src" })

export const drivers: Readonly<Record<string, { readonly isHere: boolean; readonly start: () => Driver }>> = {
  typescript: { isHere: true, start: inProcess },
  python: { isHere: works(PYTHON, "-c", "import httpx"), start: () => python() },
  "python, async": { isHere: works(PYTHON, "-c", "import httpx"), start: () => python("async") },
  go: {
    isHere: works("go", "version"),
    start: () => process_("go", ["run", "./internal/conformance"], folder("sdk/go"), { GOFLAGS: "-mod=mod" })
  }
}
