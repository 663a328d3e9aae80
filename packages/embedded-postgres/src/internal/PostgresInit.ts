/**
 * Creates the cluster. Guarantees that it exists completely or not at all: it is created under another name, then renamed.
 *
 * initdb skips its final sync (0.1 s on a fast disk, more on a slow one). `syncCluster` does it once the server is up, so that
 * the data survives a power failure minutes later.
 */
import * as fs from "node:fs"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import { folderInUse, initFailed } from "../EmbeddedPostgresError.ts"
import { type Folder, isInitialised, nameForAccount, touch } from "../PostgresFolder.ts"
import { run } from "./Subprocess.ts"

/** A start that was killed while creating a cluster leaves such a folder; one that is minutes old is abandoned. */
const sweepLeftovers = (root: string) => {
  for (const name of fs.readdirSync(root).filter((name) => name.startsWith("postgres.new-"))) {
    const path = join(root, name)
    if (Date.now() - fs.statSync(path).mtimeMs > 120_000) fs.rmSync(path, { recursive: true, force: true })
  }
}

const makeStaging = ({ root, account }: Folder) =>
  touch(root, () => {
    sweepLeftovers(root)
    const staging = fs.mkdtempSync(join(root, "postgres.new-"))
    if (account) fs.chownSync(staging, account.uid, account.gid)
    return staging
  })

/** The line of PostgreSQL's output that says what went wrong. */
const complaint = (output: string) =>
  output
    .split("\n")
    .map((line) => line.trim())
    .find((line) => /error:|FATAL:|could not /.test(line)) ?? "initdb failed"

/** The password goes through a pipe (`cat` makes it one that /dev/stdin can open), never through another file. */
const INITDB = 'cat | "$@"'

export const initialise = (folder: Folder, password: Redacted.Redacted) =>
  Effect.acquireUseRelease(
    makeStaging(folder),
    Effect.fnUntraced(function* (staging) {
      const { account, binaries, cluster, root } = folder
      const name = yield* nameForAccount(staging, account)
      const access = ["--username=postgres", "--auth=scram-sha-256", "--pwfile=/dev/stdin"]
      const options = [
        "-D",
        name,
        "--no-sync",
        "--no-instructions",
        "--locale=C",
        "--encoding=UTF8",
        ...access
      ]
      const outcome = yield* run("/bin/sh", ["-c", INITDB, "sh", binaries.initdb, ...options], {
        account,
        cwd: staging,
        input: `${Redacted.value(password)}\n`
      })
      if (!outcome.ok) return yield* initFailed(complaint(outcome.output))
      yield* touch(root, () => fs.renameSync(staging, cluster)).pipe(
        Effect.mapError((error) => (isInitialised(cluster) ? folderInUse(root) : error))
      )
    }),
    (staging) => Effect.sync(() => fs.rmSync(staging, { recursive: true, force: true }))
  )

export const syncCluster = ({ account, binaries, cluster }: Folder) =>
  nameForAccount(cluster, account).pipe(
    Effect.flatMap((name) => run(binaries.initdb, ["--sync-only", "-D", name], { account, cwd: cluster }))
  )

/** If the settings were lost but not the data, the superuser gets a new password, without a running server. */
export const resetPassword = ({ account, binaries, cluster }: Folder, password: Redacted.Redacted) =>
  nameForAccount(cluster, account).pipe(
    Effect.flatMap((name) =>
      run(binaries.postgres, ["--single", "-D", name, "postgres"], {
        account,
        cwd: cluster,
        input: `alter role postgres password '${Redacted.value(password)}'\n`
      })
    ),
    Effect.filterOrFail(
      (outcome) => outcome.ok,
      (outcome) => initFailed(complaint(outcome.output))
    )
  )
