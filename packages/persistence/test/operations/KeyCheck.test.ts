import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { make as makeBox, SecretBox } from "@posthorn/persistence/client/SecretBox"
import { SecretsRepo } from "@posthorn/persistence/operations/SecretsRepo"
import { endpoint, workspace } from "@posthorn/testkit/Seeds"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect, Redacted } from "effect"
import { keyWarning } from "../../src/operations/KeyCheck.ts"

const keyOf = (byte: number) => Redacted.make(new Uint8Array(32).fill(byte))
const [one, other] = [keyOf(1), keyOf(2)] as const

const warningWith = (...keys: ReadonlyArray<Redacted.Redacted<Uint8Array>>) =>
  keyWarning.pipe(Effect.provideService(SecretBox, makeBox(keys)), Effect.provide(SecretsRepo.Default))

const seal = (key: Redacted.Redacted<Uint8Array>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const { id: workspaceId } = yield* workspace()
    const endpointId = yield* endpoint(workspaceId)
    const secret = makeBox([key]).seal({ workspaceId, endpointId }, Redacted.make("whsec_AAAA"))
    yield* sql`update posthorn.endpoints set secret = ${secret} where id = ${endpointId}`
  })

layer(TestPg, { excludeTestServices: true })("trying the master keys at the start", (it) => {
  it.effect("§10 says how many signing secrets they open, and nothing when they open all", () =>
    Effect.gen(function* () {
      const empty = yield* warningWith(other)
      yield* seal(one)
      yield* seal(one)
      const wrong = yield* warningWith(other)
      const right = yield* warningWith(one)
      yield* seal(other)
      const mixed = yield* warningWith(one)
      const both = yield* warningWith(one, other)

      expect([empty, right, both]).toEqual([undefined, undefined, undefined])
      expect(wrong).toMatch(/^ENCRYPTION_KEY opens 0 of 2 signing secrets: nothing is sent/)
      expect(mixed).toMatch(/^ENCRYPTION_KEY opens 2 of 3 signing secrets/)
    })
  )
})
