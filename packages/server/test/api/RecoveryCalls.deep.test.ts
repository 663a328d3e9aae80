/**
 * Recovery from an outage by one command, and by one conversation of an agent: real processes, the bundled command, the
 * SDK's client. The outage is set up once, with an endpoint for each. worker/test/processes/ProcessesRecovery tests the
 * replays themselves.
 */
import { expect, layer } from "@effect/vitest"
import type { NextStep } from "@posthorn/domain/diagnosis/Diagnosis"
import type { Finding } from "@posthorn/domain/diagnosis/Finding"
import { runCommand, startWorker } from "@posthorn/testkit/Command"
import { freePort } from "@posthorn/testkit/FreePort"
import { make as makeReceiver, type Receiver } from "@posthorn/testkit/Receiver"
import { Context, Effect, Layer } from "effect"
import { COMPRESSED, type Outage, suffer } from "../../../worker/test/processes/Outage.ts"
import {
  type Api,
  OPERATOR_TOKEN,
  serveAt,
  workspaceAt
} from "../../../worker/test/processes/ServeProcess.ts"
import { within } from "../../../worker/test/processes/Story.ts"
import { Setting } from "../../../worker/test/Setting.ts"
import { agentOver, overHttp } from "../mcp/Agent.ts"

const DEAD_LETTERED = 60
const MISSED = 30
const JOB = DEAD_LETTERED + MISSED

interface Place {
  readonly url: string
  readonly api: Api
  readonly receiver: Receiver
  readonly outages: Readonly<Record<"command" | "agent" | "notified", Outage>>
}

class After extends Context.Tag("test/After")<After, Place>() {}

const afterAnOutage = Layer.scoped(
  After,
  Effect.gen(function* () {
    const mood = { broken: true }
    const receiver = yield* makeReceiver({
      behaviours: Object.fromEntries(
        ["/command", "/agent", "/notified"].map((path) => [
          path,
          (answer) => void answer.reply(mood.broken ? 503 : 200)
        ])
      )
    })
    const port = yield* freePort
    yield* serveAt(port, COMPRESSED)
    const api = yield* workspaceAt(port, "acme")
    yield* startWorker(COMPRESSED)
    const of = (name: string) =>
      suffer(api, receiver.url(`/${name}`), `${name}.lost`, { deadLettered: DEAD_LETTERED, missed: MISSED })
    const outages = yield* Effect.all(
      { command: of("command"), agent: of("agent"), notified: of("notified") },
      { concurrency: 3 }
    )
    mood.broken = false
    return { url: `http://127.0.0.1:${port}`, api, receiver, outages }
  })
).pipe(Layer.provideMerge(Setting), Layer.orDie)

/** The events that an endpoint has received since its receiver works again: each once, whatever happened before. */
const gotSince = ({ receiver }: Place, path: string, before: number) =>
  receiver
    .receivedAt(path)
    .slice(before)
    .map(({ body }) => JSON.parse(String(body)) as { eventType: string; payload: { n: number } })
    .filter(({ eventType }) => eventType.endsWith(".lost"))
    .map(({ payload }) => payload.n)
    .sort((a, b) => a - b)

const each = (count: number) => Array.from({ length: count }, (_, n) => n)

const posthorn = (place: Place, ...words: ReadonlyArray<string>) =>
  Effect.promise(() =>
    runCommand(words, {
      POSTHORN_URL: place.url,
      POSTHORN_TOKEN: OPERATOR_TOKEN,
      POSTHORN_WORKSPACE: "acme"
    })
  )

interface Told {
  readonly id: string
  readonly status: string
  readonly state: string
  readonly findings: ReadonlyArray<Finding>
}

layer(afterAnOutage, { excludeTestServices: true, timeout: "240 seconds" })("after an outage", (it) => {
  it.effect("§4.6 one command replays everything, once the endpoint is enabled", () =>
    Effect.gen(function* () {
      const place = yield* After
      const { endpointId, events } = place.outages.command
      const recover = ["recover", endpointId, "--since", "1h", "--include-missed", "--yes"]
      const before = place.receiver.receivedAt("/command").length
      const refused = yield* posthorn(place, ...recover)
      yield* posthorn(place, "endpoints", "enable", endpointId)

      const recovered = yield* posthorn(place, ...recover)
      yield* place.receiver.waitFor(before + events, "/command")

      expect([refused.code, refused.out]).toEqual([1, ""])
      expect(refused.err).toContain("is disabled")
      expect(recovered.err).toContain(
        `Endpoint ${endpointId}: ${DEAD_LETTERED} deliveries given up or refused and ${MISSED} missed events since `
      )
      expect(recovered).toMatchObject({ code: 0, out: `All ${JOB} were replayed; nothing remains.\n` })
      expect(gotSince(place, "/command", before)).toEqual(each(events))
    })
  )

  it.scoped("§4.6 an agent replays everything in six calls, with what the diagnosis gives it", () =>
    Effect.gen(function* () {
      const place = yield* After
      const { endpointId, events } = place.outages.agent
      const agent = yield* agentOver(overHttp(place.url, OPERATOR_TOKEN))
      const { used } = agent
      const use = (name: string, args: object) =>
        Effect.map(agent.use(name, { slug: "acme", ...args }), (told) => told as unknown as Told)
      const before = place.receiver.receivedAt("/agent").length

      const { findings } = yield* use("diagnose_webhook_endpoint", { endpointId })
      const lost = findings.find(({ code }) => code === "stopped_deliveries")!
      const [count, start] = lost.nextSteps as readonly [NextStep, NextStep]
      const follow = (step: NextStep, filled: object = {}) =>
        use(step.tool!, { ...step.arguments, ...filled })
      const enable = findings
        .flatMap(({ nextSteps }) => nextSteps)
        .find(({ fillIn }) => fillIn.includes("enabled"))!
      yield* follow(enable, { enabled: true })
      const test = yield* use("send_webhook_test_event", { endpointId, waitSeconds: 15 })
      const counted = yield* follow(count)
      const started = yield* follow(start, { since: count.arguments!.since })
      yield* place.receiver.waitFor(before + events + 1, "/agent")
      yield* within(
        30,
        place.api("GET", `/webhooks/replays/${started.id}`),
        ({ body }) => body.state === "done"
      )
      const done = yield* use("get_webhook_replay", { replayId: started.id })

      expect(lost.summary).toMatch(new RegExp(`^${DEAD_LETTERED} deliveries stopped`))
      expect(findings.find(({ code }) => code === "missed_events")!.summary).toMatch(
        new RegExp(`^${MISSED} events`)
      )
      expect(test.status).toBe("delivered")
      expect(counted).toEqual({
        matched: JOB,
        missed: MISSED,
        unsent: 0,
        leftOut: { recovered: 0, underWay: 0, tests: 0 }
      })
      expect(done).toMatchObject({ state: "done", matched: JOB, missed: MISSED, replayed: JOB, failed: 0 })
      expect(used).toHaveLength(6)
      expect(gotSince(place, "/agent", before)).toEqual(each(events))
    })
  )

  it.effect("§4.6 the notification contains the call, with its path and body", () =>
    Effect.gen(function* () {
      const place = yield* After
      const { endpointId, events } = place.outages.notified
      const before = place.receiver.receivedAt("/notified").length
      const listed = yield* place.api("GET", "/notifications?limit=200")
      const { items } = listed.body as unknown as {
        items: ReadonlyArray<{ kind: string; endpointId: string; message: string }>
      }
      const { message } = items.find(
        (one) => one.kind === "endpoint_disabled" && one.endpointId === endpointId
      )!
      const [, path, body] = /POST \/workspaces\/acme(\S+) with (\{.*?\})/.exec(message)!
      yield* place.api("PATCH", `/webhooks/${endpointId}`, { enabled: true })

      const started = yield* place.api("POST", path!, JSON.parse(body!))
      yield* place.receiver.waitFor(before + events, "/notified")

      expect(message).toContain(`Lost so far: ${DEAD_LETTERED} deliveries given up, 0 events missed`)
      expect(started).toMatchObject({ status: 202, body: { matched: JOB, missed: MISSED } })
      expect(gotSince(place, "/notified", before)).toEqual(each(events))
    })
  )
})
