/**
 * What the benchmark takes from Posthorn's sources, bundled once: the HTTP client and the signature that every tuned
 * competitor is given too, and what a set-up needs to write endpoints and start a PostgreSQL.
 */
import { Effect, Exit, Redacted, Scope } from "effect"
import * as EmbeddedPostgres from "../../packages/embedded-postgres/src/EmbeddedPostgres.ts"
import * as SecretBox from "../../packages/persistence/src/SecretBox.ts"

export { newId } from "../../packages/domain/src/Ids.ts"
export { decodeSecret, generateSecret, signWithKeys } from "../../packages/signature/src/index.ts"
export { open } from "../../packages/worker/src/http/Dispatch.ts"

/** A durable server (fsync on), as `npm start` has it. */
export const startPostgres = async (dataDir: string) => {
  const scope = Effect.runSync(Scope.make())
  const running = await Effect.runPromise(Scope.extend(EmbeddedPostgres.start({ dataDir }), scope))
  return {
    url: Redacted.value(running.url),
    version: running.version,
    stop: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

export const sealer = (keyBase64: string) => {
  const box = SecretBox.make([Redacted.make(new Uint8Array(Buffer.from(keyBase64, "base64")))])
  return (workspaceId: string, endpointId: string, secret: string) =>
    box.seal({ workspaceId, endpointId }, Redacted.make(secret))
}
