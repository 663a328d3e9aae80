/**
 * Repairs through MCP tools only: an agent that knows nothing but the tools finds an endpoint that gets no webhooks, follows
 * the diagnosis, and asks its user only what a user knows. Server, worker, database and receiver are real; the client is the
 * SDK's.
 */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import type { NextStep } from "@posthorn/domain/diagnosis/Diagnosis"
import type { Finding } from "@posthorn/domain/diagnosis/Finding"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect, Schedule } from "effect"
import { verify } from "../../../signature/src/index.ts"
import { makeEndpoint, publish } from "../Fixtures.ts"
import { type Entered, TestServer } from "../TestServer.ts"
import { agentOver, overHttp, serverAndWorker } from "./Agent.ts"

interface Told {
  readonly health: string
  readonly findings: ReadonlyArray<Finding>
}

/** A step together with its finding. */
interface Advice {
  readonly step: NextStep
  readonly finding: Finding
}

/** What the agent's user knows or does when a step asks for it. */
interface User {
  /** The value of an argument that only the user knows; undefined when the user does not want the step. */
  readonly knows?: (argument: string, advice: Advice) => unknown
  /** Work outside of Posthorn. */
  readonly does?: (why: string) => void
  /** Receives the secret that a rotation shows. */
  readonly stores?: (secret: string) => void
}

/** A receiver that breaks when told to, and verifies when it has a secret. */
const makeApplication = Effect.gen(function* () {
  const mood = { broken: false, secret: undefined as string | undefined }
  const receiver = yield* makeReceiver({
    behaviours: {
      "/hooks": (answer) => {
        const headers = Object.fromEntries(
          answer.request.headers.map(([name, value]) => [name.toLowerCase(), value])
        )
        const verified = () => {
          if (mood.secret === undefined) return true
          try {
            verify({ secrets: [mood.secret], headers, body: answer.request.body })
            return true
          } catch {
            return false
          }
        }
        answer.reply(mood.broken ? 500 : verified() ? 200 : 401)
      }
    }
  })
  return { mood, receiver, url: receiver.url("/hooks") }
})

const SAFE_LIMIT = 3

const makeAgent = ({ token, url }: { readonly token: string; readonly url: string }, user: User) =>
  Effect.gen(function* () {
    const { settled, until, use, used } = yield* agentOver(
      overHttp(url, token, "?tools=core&outputSchemas=true")
    )
    const done = (replayId: string) =>
      until("get_webhook_replay", { replayId }, ({ state }) => state === "done")
    const diagnose = (endpointId: string) =>
      Effect.map(use("diagnose_webhook_endpoint", { endpointId }), (told) => told as unknown as Told)

    /** Arguments from the diagnosis come first; the user supplies the rest. */
    const valueOf = (argument: string, advice: Advice, endpointId: string) =>
      user.knows?.(argument, advice) ??
      (argument === "enabled"
        ? true
        : argument === "deliveryId"
          ? advice.finding.deliveryIds[0]
          : argument === "since"
            ? advice.finding.since
            : argument === "endpointId" && user.stores !== undefined
              ? endpointId
              : undefined)

    const follow = (advice: Advice, endpointId: string) =>
      Effect.gen(function* () {
        const { step } = advice
        if (step.tool === null) return user.does?.(step.why)
        const filled = step.fillIn.map((name) => [name, valueOf(name, advice, endpointId)] as const)
        if (filled.some(([, value]) => value === undefined)) return
        const answer = yield* use(step.tool, { ...step.arguments, ...Object.fromEntries(filled) })
        if (typeof answer.signingSecret === "string") user.stores?.(answer.signingSecret)
        if (/test_event|replay_webhook/.test(step.tool)) yield* settled(answer.id)
        if (step.tool === "start_webhook_replay" && answer.id !== undefined) yield* done(answer.id)
      })

    /** Diagnoses every endpoint and follows the steps, until nothing is wrong. */
    const repair = Effect.gen(function* () {
      const { items } = yield* use("list_webhook_endpoints")
      for (const { id } of items) {
        for (let round = 0; round < SAFE_LIMIT; round++) {
          const { findings, health } = yield* diagnose(id)
          if (health === "healthy" && findings.length === 1) break
          for (const finding of findings)
            for (const step of finding.nextSteps) yield* follow({ step, finding }, id)
        }
      }
      return yield* Effect.forEach(items, ({ id }) => diagnose(id))
    })

    return { diagnose, repair, settled, use, used } as const
  })

const HEALTHY = [{ health: "healthy", findings: [{ code: "healthy" }] }]

const enter = Effect.gen(function* () {
  const { enter, url } = yield* TestServer
  const ws = yield* enter
  return { ws, url, app: yield* makeApplication }
})

/** An agent whose user stores a new secret in the receiver. */
const storingAgent = ({ app, url, ws }: Effect.Effect.Success<typeof enter>) =>
  makeAgent(
    { url, token: ws.token },
    {
      stores: (secret) => {
        app.mood.secret = secret
      }
    }
  )

/** Moves a workspace's records back by a day and an hour. */
const aDayPasses = ({ workspaceId }: Entered) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const past = sql`- interval '25 hours'`
    yield* sql.withTransaction(
      Effect.gen(function* () {
        // Triggers refuse changes of evidence, except in a session with the replica role.
        yield* sql`set local session_replication_role = replica`
        yield* sql`update posthorn.audit_events set created_at = created_at ${past} where workspace_id = ${workspaceId}`
        yield* sql`update posthorn.attempts set at = at ${past} where workspace_id = ${workspaceId}`
        yield* sql`update posthorn.endpoints set created_at = created_at ${past},
          previous_secret_expires_at = previous_secret_expires_at ${past} where workspace_id = ${workspaceId}`
      })
    )
  }).pipe(Effect.orDie)

/** An endpoint of the application, which has its secret, and one event that it received. */
const working = (
  app: Effect.Effect.Success<typeof makeApplication>,
  ws: Entered,
  eventTypes = ["invoice.*"]
) =>
  Effect.gen(function* () {
    const endpointId = yield* makeEndpoint(ws, { url: app.url, eventTypes })
    const { body } = yield* ws.call<{ readonly signingSecret: string }>(
      "POST",
      `/webhooks/${endpointId}/rotate-secret`
    )
    app.mood.secret = body.signingSecret
    const { deliveryIds } = yield* publish(ws, "invoice.paid", { number: 1 })
    yield* app.receiver.waitFor(1)
    // The diagnosis compares later attempts with this moment, so it must be recorded.
    yield* ws.call<{ readonly status: string }>("GET", `/webhooks/deliveries/${deliveryIds[0]}`).pipe(
      Effect.repeat({
        until: ({ body: { status } }) => status === "delivered",
        schedule: Schedule.spaced(20)
      })
    )
    return endpointId
  })

layer(serverAndWorker, { excludeTestServices: true, timeout: "240 seconds" })(
  "an agent that knows only the tools",
  (it) => {
    it.scoped("§4.6 repairs a receiver that answers 500, and sends again what it lost", () =>
      Effect.gen(function* () {
        const { app, url, ws } = yield* enter
        yield* working(app, ws)
        app.mood.broken = true
        const agent = yield* makeAgent(
          { url, token: ws.token },
          {
            does: (why) => {
              if (why.includes("receiver's side")) app.mood.broken = false
            }
          }
        )
        const { deliveryIds } = yield* publish(ws, "invoice.paid", { number: 2 })
        const lost = yield* agent.settled(deliveryIds[0]!)
        const [sick] = yield* agent
          .use("list_webhook_endpoints")
          .pipe(Effect.flatMap(({ items }) => Effect.forEach(items, ({ id }) => agent.diagnose(id))))

        const after = yield* agent.repair

        expect(lost.status).toBe("dead_lettered")
        expect(sick!.findings.map(({ code }) => code)).toEqual(["server_error", "stopped_deliveries"])
        expect(sick!.findings[0]!.because).toContain("All 7 failures are attempts of one delivery")
        expect(after).toMatchObject(HEALTHY)
        const bodies = app.receiver.received.map(({ body }) => JSON.parse(String(body)))
        expect(bodies.at(-1).payload).toEqual({ number: 2 })
      })
    )

    it.scoped("§4.6 repairs a wrong URL with the one its user knows", () =>
      Effect.gen(function* () {
        const { app, url, ws } = yield* enter
        yield* makeEndpoint(ws, { url: app.receiver.url("/status/404") })
        const { deliveryIds } = yield* publish(ws, "invoice.paid", { number: 1 })
        const agent = yield* makeAgent(
          { url, token: ws.token },
          {
            knows: (argument) => (argument === "url" ? app.url : undefined)
          }
        )
        yield* agent.settled(deliveryIds[0]!)

        const after = yield* agent.repair

        expect(after).toMatchObject(HEALTHY)
        expect(agent.used).toContain("update_webhook_endpoint")
        const delivered = app.receiver
          .receivedAt("/hooks")
          .map(({ body }) => JSON.parse(String(body)).payload)
        expect(delivered).toContainEqual({ number: 1 })
      })
    )

    it.scoped("§4.6 enables a disabled endpoint once the cause is gone, and sends what it missed", () =>
      Effect.gen(function* () {
        const { app, url, ws } = yield* enter
        const endpointId = yield* working(app, ws)
        app.mood.broken = true
        const agent = yield* makeAgent(
          { url, token: ws.token },
          {
            does: (why) => {
              if (why.includes("receiver's side")) app.mood.broken = false
            }
          }
        )
        for (const number of [2, 3, 4]) yield* publish(ws, "invoice.paid", { number })
        yield* agent.use("get_webhook_endpoint", { endpointId }).pipe(
          Effect.filterOrFail(({ enabled }) => enabled === false),
          Effect.retry(Schedule.intersect(Schedule.spaced("25 millis"), Schedule.recurs(800))),
          Effect.orDie
        )
        yield* publish(ws, "invoice.paid", { number: 5 })
        const sick = yield* agent.diagnose(endpointId)
        const [waiting] = (yield* agent.use("list_webhook_deliveries", { endpointId, status: "failed" }))
          .items

        const [after] = yield* agent.repair

        expect(sick.health).toBe("disabled")
        expect(sick.findings.map(({ code }) => code)).toContain("disabled_by_failures")
        expect(sick.findings.find(({ code }) => code === "missed_events")!.summary).toMatch(
          /^1 event matched/
        )
        if (waiting !== undefined) expect((yield* agent.settled(waiting.id)).status).toBe("delivered")
        expect(after).toMatchObject(HEALTHY[0]!)
        const numbers = yield* Effect.sync(() =>
          app.receiver.received.map(({ body }) => JSON.parse(String(body)).payload.number)
        ).pipe(
          Effect.filterOrFail((seen) => seen.includes(5)),
          Effect.retry(Schedule.intersect(Schedule.spaced("25 millis"), Schedule.recurs(400))),
          Effect.orDie
        )
        expect(numbers).toEqual(expect.arrayContaining([2, 3, 4, 5]))
      })
    )

    it.scoped("§4.6 shows the secret that the receiver missed, after its grace window", () =>
      Effect.gen(function* () {
        const { app, url, ws } = yield* enter
        const endpointId = yield* working(app, ws)
        yield* ws.call("POST", `/webhooks/${endpointId}/rotate-secret`)
        yield* aDayPasses(ws)
        const { deliveryIds } = yield* publish(ws, "invoice.paid", { number: 2 })
        const agent = yield* storingAgent({ app, url, ws })
        yield* agent.settled(deliveryIds[0]!)
        const sick = yield* agent.diagnose(endpointId)

        const after = yield* agent.repair

        expect(sick.findings[0]).toMatchObject({ code: "rejected", httpStatus: 401 })
        expect(sick.findings[0]!.summary).toContain("since the old signing secret ended")
        expect(after).toMatchObject(HEALTHY)
        const last = app.receiver.received.at(-1)!
        expect(JSON.parse(String(last.body)).payload).toEqual({ number: 2 })
      })
    )

    it.scoped("§4.6 shows the secret of a new endpoint, which nobody has seen yet", () =>
      Effect.gen(function* () {
        const { app, url, ws } = yield* enter
        app.mood.secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`
        const endpointId = yield* makeEndpoint(ws, { url: app.url })
        const { deliveryIds } = yield* publish(ws, "invoice.paid", { number: 1 })
        const agent = yield* storingAgent({ app, url, ws })
        yield* agent.settled(deliveryIds[0]!)
        const sick = yield* agent.diagnose(endpointId)

        const after = yield* agent.repair

        expect(sick.findings[0]!.summary).toContain("nobody has seen this endpoint's signing secret yet")
        expect(after).toMatchObject(HEALTHY)
      })
    )

    it.scoped("§4.6 corrects a misspelt event type from the published ones", () =>
      Effect.gen(function* () {
        const { app, url, ws } = yield* enter
        const endpointId = yield* makeEndpoint(ws, { url: app.url, eventTypes: ["invoice.payed"] })
        const missed = yield* publish(ws, "invoice.paid", { number: 1 })
        const agent = yield* makeAgent(
          { url, token: ws.token },
          {
            knows: (argument, { finding }) =>
              argument === "eventTypes" ? [/looks like ([\w.]+\w)/.exec(finding.summary)?.[1]] : undefined
          }
        )
        const sick = yield* agent.diagnose(endpointId)

        yield* agent.repair
        const { deliveryIds } = yield* publish(ws, "invoice.paid", { number: 2 })
        const delivered = yield* agent.settled(deliveryIds[0]!)
        const well = yield* agent.diagnose(endpointId)

        expect(missed.deliveryIds).toEqual([])
        expect(sick).toMatchObject({ health: "unproven", findings: [{ code: "nothing_matches" }] })
        expect(delivered.status).toBe("delivered")
        expect(well).toMatchObject(HEALTHY[0]!)
      })
    )
  }
)
