/**
 * A platform's settings page with its customer's webhooks in it: `node settings.mjs`, where `@posthorn/embed` is installed.
 *
 *   POSTHORN_URL, POSTHORN_TOKEN   where Posthorn is, and a token that may make console links
 *   POSTHORN_WORKSPACE             the customer's workspace
 *   ORIGIN                         of this page; default http://localhost:3000
 */
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import { fileURLToPath } from "node:url"

const { POSTHORN_URL, POSTHORN_TOKEN, POSTHORN_WORKSPACE, ORIGIN = "http://localhost:3000" } = process.env

/** A platform looks up who is signed in. The workspace never comes from the browser. */
const workspaceOf = (_request) => POSTHORN_WORKSPACE

const makeLink = async (workspace) => {
  const response = await fetch(`${POSTHORN_URL}/workspaces/${workspace}/console-links`, {
    method: "POST",
    headers: { authorization: `Bearer ${POSTHORN_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({
      role: "developer",
      embedIn: [ORIGIN],
      pages: ["endpoints", "deliveries", "event-types"],
      theme: { accent: "#0f766e", radius: 8 }
    })
  })
  if (!response.ok) throw new Error(`no link: ${response.status} ${await response.text()}`)
  return await response.json()
}

const PAGE = `<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width">
  <title>Settings</title>
  <h1>Webhooks</h1>
  <posthorn-console></posthorn-console>
  <script type="module" src="/settings.js"></script>
</html>
`

const SCRIPT = `import "/posthorn-embed.js"
const webhooks = document.querySelector("posthorn-console")
webhooks.addEventListener("linkexpired", async () => {
  const response = await fetch("/webhooks-link", { method: "POST" })
  if (response.ok) webhooks.src = (await response.json()).url
})
`

const file = (type, content) => (_request, response) => response.writeHead(200, headers(type)).end(content)
const headers = (type) => ({
  "content-type": `${type}; charset=utf-8`,
  "content-security-policy": `default-src 'self'; frame-src ${POSTHORN_URL}; require-trusted-types-for 'script'`
})

const routes = {
  "GET /": file("text/html", PAGE),
  "GET /settings.js": file("text/javascript", SCRIPT),
  "GET /posthorn-embed.js": file(
    "text/javascript",
    readFileSync(fileURLToPath(import.meta.resolve("@posthorn/embed")))
  ),
  "POST /webhooks-link": async (request, response) => {
    const link = await makeLink(workspaceOf(request))
    response.writeHead(201, headers("application/json")).end(JSON.stringify({ url: link.url }))
  }
}

createServer(async (request, response) => {
  try {
    const route = routes[`${request.method} ${request.url}`]
    await (route === undefined ? response.writeHead(404).end() : route(request, response))
  } catch (error) {
    console.error(error)
    response.writeHead(502).end()
  }
}).listen(new URL(ORIGIN).port || 3000, new URL(ORIGIN).hostname, () => console.log(`open ${ORIGIN}`))
