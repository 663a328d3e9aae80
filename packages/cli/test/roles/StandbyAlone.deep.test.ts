/** A standby without a primary: commands started on it wait, say so, and continue by themselves once it is promoted. */
import { ended, makeBundle, runCommand, saying, startCommand } from "@posthorn/testkit/Command"
import { freePort } from "@posthorn/testkit/FreePort"
import * as Receiver from "@posthorn/testkit/Receiver"
import * as ReplicatedCluster from "@posthorn/testkit/ReplicatedCluster"
import { until } from "@posthorn/testkit/Until"
import { Effect } from "effect"
import { beforeAll, expect, it } from "vitest"

const OPERATOR_TOKEN = "operator-token-of-a-standby"
const common = {
  ENCRYPTION_KEY: Buffer.alloc(32, 3).toString("base64"),
  OPERATOR_TOKEN,
  DELIVERY_ALLOWED_TARGETS: "127.0.0.1",
  DELIVERY_ALLOW_HTTP: "true",
  LOG_FORMAT: "json"
}
const SAYS = /accepts no writes/g

beforeAll(makeBundle, 240_000)

it("§10 serve, work and run wait on a lone standby, and continue when it is promoted", async () => {
  const main = Effect.gen(function* () {
    const servers = yield* ReplicatedCluster.make
    yield* servers.kill
    const DATABASE_URL = servers.standby()
    const [port, metrics, both] = yield* Effect.all([freePort, freePort, freePort])
    const started = (role: string, more: Readonly<Record<string, string>>) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const child = startCommand([role], { ...common, DATABASE_URL, ...more })
          return { child, end: ended(child), said: saying(child) }
        }),
        ({ child, end }) =>
          Effect.promise(() => {
            child.kill("SIGKILL")
            return end
          })
      )
    const serve = yield* started("serve", { PORT: String(port), DRAIN_SECONDS: "0" })
    const work = yield* started("work", { METRICS_PORT: String(metrics) })
    const run = yield* started("run", { PORT: String(both), DRAIN_SECONDS: "0" })
    yield* Effect.promise(() =>
      Promise.all([serve.said(/listening/), work.said(/delivering/), run.said(/delivering/)])
    )
    const status = (at: number, path: string) =>
      Effect.promise(async () => {
        const answer = await fetch(`http://127.0.0.1:${at}${path}`)
        return [answer.status, await answer.text()] as const
      })
    for (const at of [port, metrics, both]) {
      expect((yield* status(at, "/health/live"))[0]).toBe(200)
      const [code, text] = yield* status(at, "/health/ready")
      expect([code, JSON.parse(text).reason]).toEqual([503, "read_only"])
    }
    expect((yield* status(metrics, "/metrics"))[1]).toMatch(/^posthorn_database_up 0$/m)
    // Longer than the pause between two attempts to take shards.
    // biome-ignore lint/plugin: it takes no shards within the pause between two attempts
    yield* Effect.sleep("4 seconds")
    expect((yield* status(metrics, "/metrics"))[1]).toMatch(/^posthorn_shards_held 0$/m)

    const doctor = Effect.promise(async () => {
      const { code, out } = await runCommand(["doctor", "--json"], { ...common, DATABASE_URL })
      const { findings } = JSON.parse(out) as { findings: ReadonlyArray<{ verdict: string; code: string }> }
      return [
        code,
        findings.filter(({ verdict }) => verdict === "wrong").map((finding) => finding.code)
      ] as const
    })
    expect(yield* doctor).toEqual([1, ["standby"]])

    yield* servers.promote
    for (const at of [port, metrics, both]) {
      const [, text] = yield* until(status(at, "/health/ready"), ([code]) => code === 200, "30 seconds")
      expect(JSON.parse(text)).toMatchObject({ status: "ok", databaseRoundTripMs: expect.any(Number) })
    }
    const receiver = yield* Receiver.make()
    const call = (path: string, body: unknown) =>
      Effect.promise(async () => {
        const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
          method: "POST",
          headers: { authorization: `Bearer ${OPERATOR_TOKEN}`, "content-type": "application/json" },
          body: JSON.stringify(body)
        })
        expect(answer.status).toBeLessThan(300)
      })
    yield* call("/workspaces", { slug: "acme", name: "Acme" })
    yield* call("/workspaces/acme/webhooks", { url: receiver.url("/200"), eventTypes: ["*"] })
    yield* call("/workspaces/acme/events", { eventType: "a.b", payload: {} })
    yield* receiver.waitFor(1)

    expect(yield* doctor).toEqual([0, []])

    for (const { child, end } of [serve, work, run]) {
      child.kill("SIGTERM")
      const { code, err, out } = yield* Effect.promise(() => end)
      expect([code, `${out}${err}`.match(SAYS)?.length]).toEqual([0, 1])
    }
  })
  await Effect.runPromise(Effect.scoped(main))
}, 240_000)
