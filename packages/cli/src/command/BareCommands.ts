/**
 * The commands without arguments: their purpose, and what they run.
 *
 * A command's code is loaded only when it runs. So a worker, which does not need the server's code, takes 87 MB instead of 150,
 * and most commands start in half the time. The argument parser, which takes 17 MB, is loaded only if there are arguments. So
 * this file must not import any of them statically.
 */
import { Effect } from "effect"
import { announceStop } from "./Stopping.ts"
import { complain } from "./Terminal.ts"

export const loaded = <A, E, R>(load: () => Promise<Effect.Effect<A, E, R>>) =>
  Effect.flatten(Effect.promise(load))

const warnOfVariables = loaded(async () => {
  const { knownVariables } = await import("../settings/Variables.ts")
  const { oddNodeEnv, unknownVariables } = await import("../settings/UnknownVariables.ts")
  const lines = [
    ...unknownVariables(Object.keys(process.env), knownVariables),
    ...oddNodeEnv(process.env.NODE_ENV)
  ]
  return Effect.forEach(lines, (line) => complain(`posthorn: Warning: ${line}`), { discard: true })
})

/** Reads the settings. */
const configured = <A, E>(about: string, load: () => Promise<Effect.Effect<A, E>>) => ({
  about: `${about} It is set by variables: posthorn config shows them.`,
  run: Effect.zipRight(warnOfVariables, loaded(load))
})

/** The same, until it is stopped. */
const lasting = <A, E>(about: string, load: () => Promise<Effect.Effect<A, E>>) =>
  configured(about, async () => Effect.zipRight(announceStop, await load()))

export const roles = {
  dev: lasting(
    "Runs everything in one process, with an embedded PostgreSQL and a demo.",
    async () => (await import("../dev/Dev.ts")).dev
  ),
  serve: lasting(
    "Runs REST, MCP, the console and the reference.",
    async () => (await import("../roles/Serve.ts")).serve
  ),
  work: lasting("Runs a delivery worker.", async () => (await import("../roles/Work.ts")).work),
  run: lasting("Runs serve and work in one process.", async () => (await import("../roles/Run.ts")).run),
  migrate: configured(
    "Brings the database up to date.",
    async () => (await import("../roles/Migrate.ts")).migrate
  ),
  "re-encrypt": configured(
    "Seals every signing secret with the newest ENCRYPTION_KEY.",
    async () => (await import("../roles/ReEncrypt.ts")).reEncrypt
  ),
  config: configured(
    "Prints the settings in force, secrets hidden.",
    async () => (await import("../settings/ShowConfig.ts")).showConfig
  ),
  mcp: {
    about: "MCP over standard input and output; POSTHORN_URL and POSTHORN_TOKEN say with whom.",
    run: loaded(async () => (await import("../mcp/Mcp.ts")).mcp)
  }
} as const

export const isRole = (name: string): name is keyof typeof roles => Object.hasOwn(roles, name)
