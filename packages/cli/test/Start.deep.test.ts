import { createServer, type Socket } from "node:net"
import { join } from "node:path"
import { ended, makeBundle, saying, startCommand } from "@posthorn/testkit/Command"
import { assert, beforeAll, describe, it } from "vitest"
import { folder, lineOf, STOPPING, startAndStop } from "./Start.ts"

beforeAll(makeBundle, 240_000)

describe("npm start", () => {
  it("§10 reports that the environment replaces dev's own targets", async () => {
    const { out } = await startAndStop({ DATA_DIR: join(folder, "closed"), DELIVERY_ALLOWED_TARGETS: "" })

    assert.include(lineOf(out, "Demo workspace"), "no demo endpoint")
    assert.notInclude(out, "First webhook")
  }, 240_000)
})

describe("a stop that takes a while", () => {
  it("§10 says that requests in flight are finished first", async () => {
    const held: Array<Socket> = []
    const slow = createServer((socket) => held.push(socket)).listen(0, "127.0.0.1")
    await new Promise((resolve) => slow.once("listening", resolve))
    const { port } = slow.address() as { port: number }
    const child = startCommand(["dev"], { PORT: "0", HOST: "0.0.0.0", DATA_DIR: join(folder, "slow") })
    const end = ended(child)
    const said = saying(child)
    const [, base, token] = await said(
      /curl (http:\S+\/workspaces\/acme)\/events .*Bearer (\w+)[\s\S]*Ctrl-C stops/
    )
    const post = (path: string, body: unknown) =>
      fetch(`${base}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(body)
      })
    await post("/webhooks", { url: `http://127.0.0.1:${port}/`, eventTypes: ["slow.one"] })
    const arrived = new Promise((resolve) => slow.once("connection", resolve))
    await post("/events", { eventType: "slow.one", payload: {} })
    await arrived

    child.kill("SIGINT")
    await said(new RegExp(STOPPING))
    for (const socket of held) socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
    const { err } = await end
    slow.close()

    assert.include(err, "Warning: with HOST=0.0.0.0 the network can reach this dev instance")
    assert.strictEqual(err.split(STOPPING).length, 2)
  }, 240_000)
})
