/**
 * The commands as an operator starts them: a wrong master key is reported at the start, not by deliveries that never arrive.
 */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, it, layer } from "@effect/vitest"
import { newId } from "@posthorn/domain/Ids"
import { make as makeBox } from "@posthorn/persistence/client/SecretBox"
import { ended, makeBundle, runCommand, saying, startCommand } from "@posthorn/testkit/Command"
import { TestDatabaseUrl } from "@posthorn/testkit/TestDatabaseUrl"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect, Redacted } from "effect"
import { beforeAll } from "vitest"

const keyOf = (byte: number) => Buffer.alloc(32, byte)

beforeAll(makeBundle, 240_000)

it("§12 a failed start says why in the log's own format, and in plain lines on request", async () => {
  const failed = (LOG_FORMAT: string) => runCommand(["run"], { LOG_FORMAT, WORKER_BATCH: "1" })
  const [json, pretty] = await Promise.all([failed("json"), failed("pretty")])
  const lines = json.err
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))

  expect([json.code, json.out, pretty.code]).toEqual([1, "", 1])
  expect(lines.map(({ level }) => level)).toEqual(["warning", "error", "error", "error"])
  expect(pretty.err).toBe(`${lines.map(({ message }) => message).join("\n")}\n`)
})

/** Starts a role, and gives its output until it was up and has ended. */
const said = (role: string, databaseUrl: string, key: Buffer) =>
  Effect.promise(async () => {
    const child = startCommand([role], {
      ...{ DATABASE_URL: databaseUrl, PORT: "0", LOG_LEVEL: "warning" },
      ...{ OPERATOR_TOKEN: "x".repeat(40), ENCRYPTION_KEY: key.toString("base64") }
    })
    const end = ended(child)
    await saying(child)(/listening|delivering/)
    child.kill("SIGTERM")
    const { err, out } = await end
    return out + err
  })

layer(TestPg, { excludeTestServices: true, timeout: "240 seconds" })("serve and work at the start", (it) => {
  it.effect(
    "§10 say how many signing secrets their master keys open, unless it is all of them",
    () =>
      Effect.gen(function* () {
        const url = Redacted.value(yield* TestDatabaseUrl)
        const sql = yield* SqlClient
        const [workspaceId, endpointId] = [newId("workspace"), newId("endpoint")]
        const box = makeBox([Redacted.make(new Uint8Array(keyOf(1)))])
        const secret = box.seal({ workspaceId, endpointId }, Redacted.make("whsec_AAAA"))
        yield* sql`insert into posthorn.workspaces (id, slug, name) values (${workspaceId}, 'keys', 'Keys')`
        yield* sql`insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, secret)
          values (${workspaceId}, ${endpointId}, 'https://example.com/', '{*}', true, ${secret})`

        const [serve, work] = [yield* said("serve", url, keyOf(2)), yield* said("work", url, keyOf(2))]
        const right = yield* said("work", url, keyOf(1))

        for (const line of `${serve}${work}${right}`.trim().split("\n"))
          expect(JSON.parse(line), line).toEqual({
            timestamp: expect.any(String),
            level: expect.stringMatching(/^(info|warning)$/),
            message: expect.any(String)
          })
        for (const text of [serve, work])
          expect(text).toContain("ENCRYPTION_KEY opens 0 of 1 signing secrets")
        expect(right).toContain("delivering")
        expect(right).not.toContain("signing secrets")
      }),
    240_000
  )
})
