/**
 * One live server per data folder. PostgreSQL's own `postmaster.pid` is the lock. This file reads it before a start, to
 * distinguish three cases that PostgreSQL reports alike: another Posthorn is running (refuse, in one line); a server whose
 * Posthorn has just died is still stopping (wait); or another process now has the server's process id, which is common in
 * containers (remove the file).
 *
 * A server's options name the process that started it: `cluster_name=posthorn-<process id>`.
 */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { Effect, Schedule } from "effect"
import { folderInUse } from "../EmbeddedPostgresError.ts"
import { type Folder, touch } from "../PostgresFolder.ts"

export const OWNER = "cluster_name=posthorn-"

const read = (path: string) => {
  try {
    return fs.readFileSync(path, "utf8")
  } catch {
    return ""
  }
}

const exists = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

/** A server's working directory is its cluster's folder, which Linux shows. Elsewhere only its name can be checked. */
const serves = (pid: number, cluster: string) => {
  if (!exists(pid)) return false
  if (process.platform !== "linux")
    return spawnSync("ps", ["-o", "comm=", "-p", `${pid}`]).stdout.includes("postgres")
  try {
    return fs.readlinkSync(`/proc/${pid}/cwd`) === fs.realpathSync(cluster)
  } catch {
    return false
  }
}

const pidFile = (cluster: string) => join(cluster, "postmaster.pid")

/** The process id of the server that runs on this cluster, if any. */
export const liveServer = (cluster: string): number | undefined => {
  const pid = Number.parseInt(read(pidFile(cluster)), 10)
  return Number.isInteger(pid) && pid > 0 && serves(pid, cluster) ? pid : undefined
}

const liveOwner = (cluster: string): number | undefined => {
  const options = read(join(cluster, "postmaster.opts"))
  const owner = Number.parseInt(options.slice(options.indexOf(OWNER) + OWNER.length), 10)
  return options.includes(OWNER) && exists(owner) ? owner : undefined
}

const gone = (cluster: string) =>
  Effect.sync(() => liveServer(cluster) === undefined).pipe(
    Effect.repeat({ until: (done) => done, schedule: Schedule.spaced("20 millis") })
  )

/** Stops an orphaned server, since no other process will. */
const askToStop = (cluster: string, server: number) =>
  Effect.try(() => process.kill(server, "SIGINT")).pipe(
    Effect.zipRight(gone(cluster)),
    Effect.timeout("15 seconds")
  )

/**
 * Afterwards no server runs on this cluster, and no file claims that one does. A server that is stopping, because its Posthorn
 * has just ended, gets a moment.
 */
export const claimCluster = ({ cluster, root }: Folder) =>
  Effect.gen(function* () {
    yield* gone(cluster).pipe(Effect.timeoutOption("1 second"))
    const server = liveServer(cluster)
    if (server !== undefined) {
      const owner = liveOwner(cluster)
      if (owner !== undefined) return yield* folderInUse(root, owner)
      yield* askToStop(cluster, server).pipe(Effect.mapError(() => folderInUse(root, server)))
    }
    yield* touch(root, () => fs.rmSync(pidFile(cluster), { force: true }))
  })
