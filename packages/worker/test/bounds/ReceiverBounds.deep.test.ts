/**
 * The same of receivers and token servers: whatever one answers, its worker goes on, and another workspace's deliveries arrive.
 * The parts of an answer and what each may be at its worst are in `HostileReceivers.ts`.
 */
import { fileURLToPath } from "node:url"
import { expect, layer } from "@effect/vitest"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect } from "effect"
import { call } from "./Doors.ts"
import type { Flooded } from "./Flood.ts"
import { type Hostile, hostiles, listen } from "./HostileReceivers.ts"
import { type Case, installation } from "./Installation.ts"

/** As many as have slots for themselves. */
const ENDPOINTS = 8
const EVENTS = 25
const FOR_MS = 700

const AUTHORITY = fileURLToPath(new URL("../../../testkit/certs/ca.pem", import.meta.url))

/** Endpoints of the attacker that all have this receiver, and events for them. */
const attack =
  (url: string, token: string, n: number) =>
  async (hostile: Hostile): Promise<Flooded> => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
    const post = async (path: string, body: unknown, method = "POST") => {
      const answer = await call(url, {
        method,
        path: `/workspaces/attacker${path}`,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) })
      })
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
      return answer.body as { readonly id: string }
    }
    const listening = await listen(hostile)
    const eventType = `attack.n${n}`
    const made = await Promise.all(
      Array.from({ length: ENDPOINTS }, () =>
        post("/webhooks", {
          url: listening.url,
          eventTypes: [eventType],
          ...(hostile.request !== undefined && { request: hostile.request(listening.url) })
        })
      )
    )
    const until = Date.now() + FOR_MS
    for (let event = 0; event < EVENTS; event++) await post("/events", { eventType, payload: event })
    // biome-ignore lint/plugin: what an attack costs is measured for a time.
    await new Promise((resolve) => setTimeout(resolve, until - Date.now()))
    for (const { id } of made) await post(`/webhooks/${id}`, { enabled: false }, "PATCH")
    await listening.close()
    return { statuses: { requests: listening.requests() }, bytes: 0 }
  }

layer(TestPg, { excludeTestServices: true })("bounds of receivers", (it) => {
  it.scoped(
    "§7.1 nothing that a receiver or a token server answers costs another workspace",
    () =>
      Effect.gen(function* () {
        const { attacker, judge, url } = yield* installation(["REST_WRITE", "EVENT_PUBLISH"], {
          NODE_EXTRA_CA_CERTS: AUTHORITY
        })
        const cases = hostiles.map(
          (hostile, n): Case => ({
            name: hostile.name,
            try: () => attack(url, attacker.token, n)(hostile)
          })
        )
        expect(yield* judge(cases)).toEqual([])
      }),
    600_000
  )
})
