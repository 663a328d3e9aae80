/**
 * `npm run openapi:clients`: generates a client with openapi-typescript and one with oazapfts, compiles both strictly, and
 * runs them against a live server (`posthorn dev` with a database of its own), which is started and stopped here.
 */
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bin, document, install, root, run } from "./run.mjs"

const freePort = () =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })

const ready = async (url) => {
  for (
    const deadline = Date.now() + 90_000;
    Date.now() < deadline;
    await new Promise((done) => setTimeout(done, 200))
  ) {
    if (
      await fetch(url).then(
        (answer) => answer.ok,
        () => false
      )
    )
      return
  }
  throw new Error("the server did not become ready within 90 s")
}

/** Deliveries are allowed to https: only, so `dev` makes no demo endpoint. */
const withServer = async (use) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-clients-"))
  const port = await freePort()
  const operatorToken = randomBytes(32).toString("hex")
  const env = {
    ...process.env,
    DATA_DIR: folder,
    PORT: String(port),
    OPERATOR_TOKEN: operatorToken,
    ENCRYPTION_KEY: randomBytes(32).toString("base64"),
    DELIVERY_ALLOW_HTTP: "false",
    LOG_LEVEL: "error"
  }
  await run(process.execPath, ["scripts/bundle.mjs"], { cwd: root })
  const server = spawn(process.execPath, [join(root, "build", "posthorn.mjs"), "dev"], {
    cwd: root,
    env,
    stdio: ["ignore", "ignore", "inherit"]
  })
  const ended = new Promise((done) => server.once("exit", done))
  try {
    await ready(`http://127.0.0.1:${port}/health/ready`)
    await use(`http://127.0.0.1:${port}`, operatorToken)
  } finally {
    server.kill("SIGTERM")
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
}

await install()
try {
  await run(bin("openapi-typescript"), [document, "--output", "generated/openapi.ts"])
  await run(bin("oazapfts"), [document, "generated/oazapfts.ts"])
  await run(bin("tsc"), ["--project", "tsconfig.json"])
  await withServer((url, token) =>
    run(join(root, "node_modules", ".bin", "tsx"), ["smoke/main.ts", url, token])
  )
} catch (error) {
  console.error(error.message)
  process.exit(1)
}
