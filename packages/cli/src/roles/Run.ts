/**
 * `posthorn run`: `serve` and `work` in one process, for an installation that one process is enough for.
 *
 * It takes the variables of both and serves the meters of both on PORT. When it is stopped it drains like `serve`, and delivers
 * meanwhile; then it finishes its attempts like `work`. Source: spec §10.
 */
import { Broken } from "@posthorn/worker/Worker"
import { Context, Effect, Layer } from "effect"
import { say } from "../command/Terminal.ts"
import { settings } from "../settings/Settings.ts"
import { freePort } from "./ListeningPorts.ts"
import { addressesOf, type RoleSettings } from "./RoleSettings.ts"
import { serverOf } from "./Serve.ts"
import { required, requireReadyToWork, resolve } from "./StartChecks.ts"
import { telemetryOf } from "./Telemetry.ts"
import { workerOf } from "./Work.ts"

/** The server stops first; `dev` has both, too. */
export const installationOf = (resolved: RoleSettings) =>
  Layer.provideMerge(serverOf(resolved), workerOf(resolved))

export const run = Effect.gen(function* () {
  const given = yield* settings
  yield* required(given, ["DATABASE_URL", "ENCRYPTION_KEY", "OPERATOR_TOKEN"])
  yield* requireReadyToWork(given)
  const port = given.port === 0 ? yield* freePort(0, given.host) : given.port
  const resolved = { ...resolve(given), port }
  const built = yield* Layer.build(Layer.provide(installationOf(resolved), telemetryOf(given, "run")))
  yield* say(`posthorn run: delivering, listening on ${addressesOf(resolved)}`)
  return yield* Context.get(built, Broken)
}).pipe(Effect.scoped)
