/** Compiles what `posthorn types` writes, strictly. Where there is no `go` or `mypy`, says so; `py_compile` needs only Python. */
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

const typescript = join(
  dirname(createRequire(import.meta.url).resolve("typescript/package.json")),
  "bin",
  "tsc"
)

export interface Compiled {
  readonly isGood: boolean
  readonly said: string
}

const run = (program: string, words: ReadonlyArray<string>, cwd: string) =>
  new Promise<Compiled | undefined>((resolve) =>
    execFile(
      program,
      words,
      { cwd, env: { ...process.env, GOCACHE: join(tmpdir(), "posthorn-go"), GO111MODULE: "off" } },
      (error, out, err) =>
        resolve(
          (error as NodeJS.ErrnoException | null)?.code === "ENOENT"
            ? undefined
            : { isGood: error === null, said: `${out}${err}` }
        )
    )
  )

const within = async <A>(files: Readonly<Record<string, string>>, use: (folder: string) => Promise<A>) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-types-"))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  try {
    return await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Each language's compiler for the file that `types` writes and another that uses it; undefined where it is not installed. */
export const compilers = {
  typescript: (types: string, receiver: string) =>
    within({ "webhooks.ts": types, "receiver.ts": receiver }, (folder) =>
      run(
        process.execPath,
        [
          typescript,
          "--strict",
          "--noEmit",
          "--exactOptionalPropertyTypes",
          "--target",
          "es2022",
          "--ignoreConfig",
          "receiver.ts"
        ],
        folder
      )
    ),
  python: (types: string, receiver: string) =>
    within({ "webhooks.py": types, "receiver.py": receiver }, async (folder) => {
      const compiled = await run("python3", ["-m", "py_compile", "webhooks.py", "receiver.py"], folder)
      if (compiled?.isGood !== true) return compiled
      const loaded = await run("python3", ["webhooks.py"], folder)
      if (loaded?.isGood !== true) return loaded
      return run("mypy", ["--strict", "--python-version", "3.11", "webhooks.py", "receiver.py"], folder)
    }),
  go: (types: string, receiver: string) =>
    within({ "webhooks.go": types, "receiver.go": receiver }, (folder) =>
      run("go", ["vet", "webhooks.go", "receiver.go"], folder)
    )
}
