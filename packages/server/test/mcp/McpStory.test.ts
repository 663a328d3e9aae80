/**
 * The whole story from an agent's view: the SDK's own client, over both transports, with a real server, a real worker and a
 * real receiver. The client checks every answer against the tool's output schema.
 */

import { expect, layer } from "@effect/vitest"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { makeBundle } from "@posthorn/testkit/Command"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import { beforeAll } from "vitest"
import { verify } from "../../../signature/src/index.ts"
import { TestServer } from "../TestServer.ts"
import { agentOver, overHttp, overStdio, serverAndWorker } from "./Agent.ts"

const story = (transportTo: (url: string, token: string) => Transport) =>
  Effect.gen(function* () {
    const { enter, url } = yield* TestServer
    const ws = yield* enter
    const receiver = yield* makeReceiver()
    const { settled, use } = yield* agentOver(transportTo(url, ws.token))

    const endpoint = yield* use("create_webhook_endpoint", {
      url: receiver.url("/status/404"),
      eventTypes: ["invoice.*"]
    })
    const rotated = yield* use("rotate_webhook_secret", { endpointId: endpoint.id })
    const published = yield* use("publish_event", { eventType: "invoice.paid", payload: { total: 12.5 } })
    const [deliveryId] = published.deliveryIds as ReadonlyArray<string>
    const lost = yield* settled(deliveryId!)
    const sick = yield* use("diagnose_webhook_endpoint", { endpointId: endpoint.id })
    yield* use("update_webhook_endpoint", { endpointId: endpoint.id, url: receiver.url("/status/200") })
    const replayed = yield* use("replay_webhook_delivery", { deliveryId: lost.id })
    const delivered = yield* settled(replayed.id)
    const well = yield* use("diagnose_webhook_endpoint", { endpointId: endpoint.id })

    expect(lost).toMatchObject({ status: "failed_permanent", lastHttpStatus: 404 })
    expect(sick).toMatchObject({
      health: "failing",
      findings: [{ code: "not_found" }, { code: "stopped_deliveries" }]
    })
    expect(delivered).toMatchObject({ status: "delivered", replayedFrom: lost.id, payload: { total: 12.5 } })
    expect(well).toMatchObject({ health: "healthy", findings: [{ code: "healthy" }] })
    const [request] = yield* receiver.waitFor(1, "/status/200")
    const headers = Object.fromEntries(request!.headers.map(([name, value]) => [name.toLowerCase(), value]))
    expect(verify({ secrets: [String(rotated.signingSecret)], headers, body: request!.body }).id).toBe(
      replayed.id
    )
  })

beforeAll(makeBundle, 240_000)

layer(serverAndWorker, { excludeTestServices: true, timeout: "240 seconds" })(
  "an agent with the SDK's client",
  (it) => {
    it.scoped("§1 sets up, watches, diagnoses and repairs an endpoint over HTTP", () => story(overHttp))

    it.scoped("§1 does the same over stdio, through posthorn mcp", () => story(overStdio), 60_000)

    it.scoped("§4.7 finds the instructions, the resources and the prompts", () =>
      Effect.gen(function* () {
        const { call, enter, url } = yield* TestServer
        const ws = yield* enter
        const { client } = yield* agentOver(overHttp(url, ws.token))

        const { resources } = yield* Effect.promise(() => client.listResources())
        const { prompts } = yield* Effect.promise(() => client.listPrompts())
        const texts = yield* Effect.forEach(resources, ({ uri }) =>
          Effect.map(
            Effect.promise(() => client.readResource({ uri })),
            ({ contents }) => (contents[0] as { text: string }).text
          )
        )
        const page = yield* call("GET", "/openapi.json")
        const prompt = yield* Effect.promise(() =>
          client.getPrompt({ name: "diagnose_endpoint", arguments: { endpointId: "whe_7" } })
        )

        expect(client.getInstructions()).toContain("diagnose_webhook_endpoint")
        expect(resources.map(({ uri }) => uri)).toEqual([
          "posthorn://state-machine",
          "posthorn://openapi",
          "posthorn://llms"
        ])
        expect(JSON.parse(texts[1]!)).toMatchObject({ openapi: "3.1.0", info: { title: "Posthorn" } })
        expect(texts[1]).toBe(page.text)
        expect(prompts.map(({ name }) => name)).toEqual(["diagnose_endpoint", "set_up_endpoint"])
        expect(prompt.messages).toMatchObject([
          { role: "user", content: { text: expect.stringContaining("whe_7") } }
        ])
      })
    )
  }
)
