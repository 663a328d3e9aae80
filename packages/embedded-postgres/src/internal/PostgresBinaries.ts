/**
 * Finds PostgreSQL's programs in the npm package of this platform and makes sure that they run.
 *
 * Guarantees that `initdb` has run under PostgreSQL's account. Two obstacles are removed: if install scripts were not run, the
 * package's libraries lack their short names (links are made here); and root's packages may be where the other account has no
 * access, as under /root (then a readable copy of 50 MB is made once). Nothing is ever downloaded.
 */
import * as fs from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { Effect } from "effect"
import { describe, unsupportedPlatform } from "../EmbeddedPostgresError.ts"
import { type Account, type Outcome, run } from "./Subprocess.ts"

export interface Binaries {
  readonly initdb: string
  readonly postgres: string
  /** As in `18.4`. */
  readonly version: string
}

const here = `${process.platform}-${process.arch}`

/** This file's own package or, in the bundle in `build/`, the package it was bundled from. */
const resolveFrom = [
  import.meta.url,
  new URL("../packages/embedded-postgres/package.json", import.meta.url).href
]

export const locate = (platform: string) =>
  Effect.suspend(() => {
    for (const origin of resolveFrom) {
      try {
        const library = createRequire(origin).resolve("embedded-postgres")
        const native = join(
          dirname(createRequire(library).resolve(`@embedded-postgres/${platform}`)),
          "..",
          "native"
        )
        return Effect.succeed(native)
      } catch {}
    }
    return unsupportedPlatform(`${platform}: the package @embedded-postgres/${platform} is not installed`)
  })

/** Makes the links that the package's install script would make. Best effort: running initdb shows whether any is missing. */
const linkLibraries = (native: string) =>
  Effect.sync(() => {
    try {
      const links: ReadonlyArray<{ source: string; target: string }> = JSON.parse(
        fs.readFileSync(join(native, "pg-symlinks.json"), "utf8")
      )
      for (const { source, target } of links) {
        const path = join(native, "..", target)
        if (!fs.existsSync(path)) fs.symlinkSync(basename(source), path)
      }
    } catch {}
  })

const probe = (native: string, account: Account | undefined) =>
  run(join(native, "bin", "initdb"), ["--version"], { account, cwd: "/" })

const binariesIn = (native: string, outcome: Outcome): Binaries => ({
  initdb: join(native, "bin", "initdb"),
  postgres: join(native, "bin", "postgres"),
  version: /\d+(\.\d+)*/.exec(outcome.output)?.[0] ?? "?"
})

/** Whether only this account can have filled the folder: it is the owner, and nobody else may write. */
const isTrusted = (folder: string) => {
  const stat = fs.lstatSync(folder, { throwIfNoEntry: false })
  return stat?.isDirectory() === true && stat.uid === process.getuid?.() && (stat.mode & 0o022) === 0
}

/** Filled under another name and then renamed, so that it exists completely or not at all. */
const copyTo = (place: string, native: string, name: string) => {
  const copy = join(place, name)
  if (isTrusted(copy)) return copy
  const staging = fs.mkdtempSync(`${copy}-`)
  try {
    fs.cpSync(native, join(staging, "native"), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => !path.endsWith(".a")
    })
    fs.chmodSync(staging, 0o755)
    fs.renameSync(staging, copy)
    return copy
  } catch (error) {
    fs.rmSync(staging, { recursive: true, force: true })
    if (isTrusted(copy)) return copy
    throw error
  }
}

const runnableCopy = (native: string, account: Account | undefined, why: string) =>
  Effect.gen(function* () {
    const { version } = JSON.parse(fs.readFileSync(join(native, "..", "package.json"), "utf8")) as {
      version: string
    }
    let reason = why
    for (const place of new Set(["/var/tmp", tmpdir(), "/tmp"])) {
      const copied = yield* Effect.try({
        try: () =>
          join(copyTo(place, native, `posthorn-postgres-${version}-${process.getuid?.()}`), "native"),
        catch: describe
      }).pipe(Effect.either)
      if (copied._tag === "Left") {
        reason = `${place}: ${copied.left}`
        continue
      }
      yield* linkLibraries(copied.right)
      const outcome = yield* probe(copied.right, account)
      if (outcome.ok) return binariesIn(copied.right, outcome)
    }
    return yield* unsupportedPlatform(`${here}: ${reason}`)
  })

/** Makes the programs of an unpacked package runnable, in place or in a copy. */
export const prepareBinaries = (native: string, account: Account | undefined) =>
  Effect.gen(function* () {
    yield* linkLibraries(native)
    const outcome = yield* probe(native, account)
    if (outcome.ok) return binariesIn(native, outcome)
    // A program that exists but "does not exist" lacks its loader: the C library is not glibc, as on Alpine.
    if (outcome.spawnError === "ENOENT") return yield* unsupportedPlatform(`${here}: its programs need glibc`)
    const why = outcome.spawnError ?? outcome.output.trim().split("\n")[0] ?? "initdb does not run"
    return yield* runnableCopy(native, account, why)
  })

export const findBinaries = (account: Account | undefined) =>
  locate(here).pipe(Effect.flatMap((native) => prepareBinaries(native, account)))
