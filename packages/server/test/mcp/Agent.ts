/**
 * An agent: the SDK's own client, over HTTP or as a local command, and a server with a worker that delivers to this process.
 */
import { expect } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { parseAllowedTargets } from "@posthorn/domain/AllowedTargets"
import * as SecretBox from "@posthorn/persistence/client/SecretBox"
import { bundleFile, freshShell } from "@posthorn/testkit/Command"
import { until as untilRight } from "@posthorn/testkit/Until"
import { Effect, Either, Layer } from "effect"
import * as Worker from "../../../worker/src/Worker.ts"
import { defaults, WorkerConfig } from "../../../worker/src/WorkerConfig.ts"
import { type Loose, MASTER_KEY, testServer } from "../TestServer.ts"

const allowedTargets = Either.getOrThrow(parseAllowedTargets("127.0.0.1", true))

export const serverAndWorker = Worker.layer.pipe(
  Layer.provide(Layer.succeed(WorkerConfig, { ...defaults, retryDelayMs: 20, allowedTargets })),
  Layer.provide(Layer.succeed(SecretBox.SecretBox, SecretBox.make([MASTER_KEY]))),
  Layer.provideMerge(testServer({ allowedTargets }))
)

export const overHttp = (url: string, token: string, query = ""): Transport =>
  new StreamableHTTPClientTransport(new URL(`${url}/mcp${query}`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } }
  }) as Transport

export const overStdio = (url: string, token: string): Transport =>
  new StdioClientTransport({
    command: process.execPath,
    args: [bundleFile, "mcp"],
    env: { ...freshShell, POSTHORN_URL: url, POSTHORN_TOKEN: token },
    stderr: "inherit"
  })

/** Its client checks each answer against the tool's output schema. */
export const agentOver = (transport: Transport) =>
  Effect.gen(function* () {
    const client = new Client({ name: "agent", version: "1.0.0" })
    yield* Effect.acquireRelease(
      Effect.promise(() => client.connect(transport)),
      () => Effect.promise(() => client.close())
    )
    yield* Effect.promise(() => client.listTools())
    const used: Array<string> = []
    const use = (name: string, args: Readonly<Record<string, unknown>> = {}) =>
      Effect.promise(async () => {
        used.push(name)
        const result = await client.callTool({ name, arguments: { ...args } })
        expect(result.isError, `${name}: ${JSON.stringify(result.content)}`).toBeUndefined()
        return result.structuredContent as unknown as Loose
      })
    const until = (name: string, args: Readonly<Record<string, unknown>>, holds: (told: Loose) => boolean) =>
      Effect.orDie(untilRight(use(name, args), holds, "50 seconds"))
    /** Waits for the last attempt of a delivery. */
    const settled = (deliveryId: string) =>
      until(
        "get_webhook_delivery",
        { deliveryId },
        ({ status }) => !["pending", "failed"].includes(String(status))
      )
    return { client, use, used, until, settled }
  })
