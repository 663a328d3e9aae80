/**
 * `posthorn config`: the settings in force, one variable a line, and where each comes from. Secrets are hidden; in a URL, the
 * password and the values of the query, which may contain one, but for those that say how TLS is used. An invalid environment is reported as by every command.
 */
import { hostsOf } from "@posthorn/persistence/client/Hosts"
import { Effect } from "effect"
import { dim, say } from "../command/Terminal.ts"
import { settings } from "./Settings.ts"
import { type Variable, variables } from "./Variables.ts"

const HIDDEN = "(hidden)"

const OPEN = new Set(["sslmode", "sslrootcert", "host", "target_session_attrs", "tls"])

const withoutSecrets = (query: URLSearchParams) =>
  [...query].map(([name, value]) => `${name}=${OPEN.has(name) ? value : HIDDEN}`).join("&")

/** A user name without a password may itself be a secret, as with some hosters of Redis and PostgreSQL. */
const withoutSecret = (value: string) => {
  const urls = hostsOf(value) ?? [value]
  if (!urls.every((url) => URL.canParse(url))) return HIDDEN
  const { password, pathname, protocol, searchParams, username } = new URL(urls[0]!)
  const host = urls.map((url) => new URL(url).host).join(",")
  const who = password !== "" ? `${username}:${HIDDEN}@` : username === "" ? "" : `${HIDDEN}@`
  const query = searchParams.size === 0 ? "" : `?${withoutSecrets(searchParams)}`
  return `${protocol}//${who}${host}${pathname}${query}`
}

const shown = ({ isSecret }: Variable, value: string) =>
  value === "" || isSecret === undefined ? value : isSecret === "url" ? withoutSecret(value) : HIDDEN

const line = (name: string, variable: Variable, set: string | undefined) => {
  const value = set === undefined ? (variable.standard ?? "") : shown(variable, set)
  const from = set !== undefined ? "set" : variable.standard === undefined ? "not set" : "default"
  return `${`${name}=${value}`.padEnd(56)} ${dim(`# ${from}`)}`
}

export const showConfig = Effect.gen(function* () {
  yield* settings
  yield* Effect.forEach(
    Object.entries(variables as Readonly<Record<string, Variable>>),
    ([name, variable]) => say(line(name, variable, process.env[name])),
    { discard: true }
  )
})
