import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { newId } from "@posthorn/domain/Ids"
import { make as makeBox, openOrThrow, SecretBox } from "@posthorn/persistence/client/SecretBox"
import { SecretsRepo } from "@posthorn/persistence/operations/SecretsRepo"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect, Redacted } from "effect"
import { reEncryptAll } from "../src/ReEncryption.ts"

const keyOf = (byte: number) => Redacted.make(new Uint8Array(32).fill(byte))
const [oldKey, newKey, lostKey] = [keyOf(1), keyOf(2), keyOf(3)] as const
const oldBox = makeBox([oldKey])

interface Row {
  readonly workspaceId: string
  readonly endpointId: string
  readonly secret: Buffer
  readonly previousSecret: Buffer | null
  readonly requestSecrets: Buffer | null
}

/** Endpoints whose secrets are sealed by the box; the second has a previous one, and the secrets of a request. */
const seed = (count: number, box = oldBox) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const workspaceId = newId("workspace")
    yield* sql`insert into posthorn.workspaces (id, slug, name)
      values (${workspaceId}, ${workspaceId.slice(-20)}, 'W')`
    for (let n = 0; n < count; n++) {
      const endpointId = newId("endpoint")
      const seal = (text: string) => box.seal({ workspaceId, endpointId }, Redacted.make(text))
      const previous = n === 1 ? seal(`previous-${n}`) : null
      const ofRequest =
        n === 1 ? box.seal({ workspaceId, endpointId, of: "request" }, Redacted.make("request-1")) : null
      yield* sql`insert into posthorn.endpoints
          (workspace_id, id, url, event_types, enabled, secret, previous_secret, previous_secret_expires_at,
            request_secrets)
        values (${workspaceId}, ${endpointId}, 'https://example.com/', '{*}', true, ${seal(`secret-${n}`)}, ${previous},
          ${previous === null ? null : "2999-01-01T00:00:00Z"}::timestamptz, ${ofRequest})`
    }
    const rows = sql<Row>`
      select workspace_id as "workspaceId", id as "endpointId", secret, previous_secret as "previousSecret",
        request_secrets as "requestSecrets"
      from posthorn.endpoints where workspace_id = ${workspaceId} order by id`
    return { workspaceId, rows }
  })

const run = (keys: ReadonlyArray<Redacted.Redacted<Uint8Array>>) =>
  reEncryptAll.pipe(Effect.provideService(SecretBox, makeBox(keys)), Effect.provide(SecretsRepo.Default))

const opened = (keys: ReadonlyArray<Redacted.Redacted<Uint8Array>>, rows: ReadonlyArray<Row>) =>
  rows.map((row) => Redacted.value(openOrThrow(makeBox(keys), row, row.secret)))

layer(TestPg, { excludeTestServices: true })("re-encrypt", (it) => {
  it.effect("§3.6 seals the Slack URLs of alerts anew, and names the workspaces whose no key opens", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const [known, lost] = [yield* seed(0), yield* seed(0)]
      const sealedBy = (key: typeof oldKey, { workspaceId }: { workspaceId: string }) =>
        sql`update posthorn.workspaces
          set alert_secrets = ${makeBox([key]).seal({ workspaceId, of: "alerts" }, Redacted.make("urls"))} where id = ${workspaceId}`
      yield* sealedBy(oldKey, known)
      yield* sealedBy(lostKey, lost)

      const { unreadable } = yield* run([newKey, oldKey])

      const [row] = yield* sql<{ sealed: Buffer }>`
        select alert_secrets as sealed from posthorn.workspaces where id = ${known.workspaceId}`
      expect(unreadable).toEqual([lost.workspaceId])
      expect(
        Redacted.value(
          openOrThrow(makeBox([newKey]), { workspaceId: known.workspaceId, of: "alerts" }, row!.sealed)
        )
      ).toBe("urls")
      yield* sql`delete from posthorn.workspaces where id in (${known.workspaceId}, ${lost.workspaceId})`
    })
  )

  it.effect("§3.4 seals every secret with the newest key, so that the old key can be removed", () =>
    Effect.gen(function* () {
      const { rows } = yield* seed(3)

      const first = yield* run([newKey, oldKey])
      const again = yield* run([newKey, oldKey])

      const after = yield* rows
      expect(first).toEqual({ endpoints: 3, sealed: 3, unreadable: [] })
      expect(again).toEqual({ endpoints: 3, sealed: 0, unreadable: [] })
      expect(opened([newKey], after)).toEqual(["secret-0", "secret-1", "secret-2"])
      const withPrevious = after[1]!
      expect(Redacted.value(openOrThrow(makeBox([newKey]), withPrevious, withPrevious.previousSecret!))).toBe(
        "previous-1"
      )
      const { endpointId, requestSecrets, workspaceId } = withPrevious
      const ofRequest = openOrThrow(
        makeBox([newKey]),
        { workspaceId, endpointId, of: "request" },
        requestSecrets!
      )
      expect(Redacted.value(ofRequest)).toBe("request-1")
      expect(() => openOrThrow(makeBox([newKey]), { workspaceId, endpointId }, requestSecrets!)).toThrow()
    })
  )

  it.effect("§3.4 continues over several batches, and leaves secrets that no key opens unchanged", () =>
    Effect.gen(function* () {
      const many = yield* seed(1001)
      const lost = yield* seed(1, makeBox([lostKey]))
      const [before] = yield* lost.rows

      const result = yield* run([newKey, oldKey])

      expect(result.sealed).toBe(1001)
      expect(result.unreadable).toEqual([before!.endpointId])
      expect(yield* lost.rows).toEqual([before])
      expect(opened([newKey], yield* many.rows)).toHaveLength(1001)
    })
  )

  it.effect("§3.4 does not overwrite a rotation that happens meanwhile", () =>
    Effect.gen(function* () {
      const { rows } = yield* seed(1)
      const [row] = yield* rows
      const sql = yield* SqlClient
      const secrets = yield* Effect.provide(SecretsRepo, SecretsRepo.Default)
      const rotated = oldBox.seal(row!, Redacted.make("rotated"))
      yield* sql`update posthorn.endpoints set secret = ${rotated} where id = ${row!.endpointId}`

      const won = yield* secrets.replace(row!, {
        ...row!,
        secret: makeBox([newKey]).seal(row!, Redacted.make("stale"))
      })

      expect(won).toBe(false)
      expect(opened([oldKey], yield* rows)).toEqual(["rotated"])
    })
  )
})
