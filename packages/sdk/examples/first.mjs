// A first verified delivery: registers an endpoint here, publishes an event, and verifies what arrives.
import { createServer } from "node:http"
import { buffer } from "node:stream/consumers"
import { Posthorn, verify } from "@posthorn/sdk"

const { POSTHORN_TOKEN, POSTHORN_URL, POSTHORN_WORKSPACE } = process.env
const posthorn = new Posthorn({ url: POSTHORN_URL, token: POSTHORN_TOKEN, workspace: POSTHORN_WORKSPACE })

let secret
const receiver = createServer(async (request, response) => {
  const body = await buffer(request)
  const { id } = await verify({ secrets: secret, headers: request.headers, body })
  response.writeHead(204).end()
  console.log(`verified ${id}: ${body}`)
  receiver.close()
})
await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve))

const endpoint = await posthorn.createWebhookEndpoint({
  url: `http://127.0.0.1:${receiver.address().port}/`,
  eventTypes: ["first.typescript"],
  revealSecret: true
})
secret = endpoint.signingSecret
await posthorn.publishEvent({ eventType: "first.typescript", payload: { hello: "world" } })
