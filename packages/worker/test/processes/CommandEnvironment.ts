/** The path of the bundled command, and the environment it needs, for tests and the chaos run. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"

const inProject = (path: string) => fileURLToPath(new URL(`../../../../${path}`, import.meta.url))

export const bundleFile = inProject("build/posthorn.mjs")

/** Does nothing when the bundle is current. */
export const makeBundle = () =>
  new Promise<void>((resolve, reject) => {
    execFile(process.execPath, [inProject("scripts/bundle.mjs")], (error) =>
      error === null ? resolve() : reject(error)
    )
  })

/** The key of the tests' SecretBox: 32 bytes of 7. */
export const ENCRYPTION_KEY = Buffer.alloc(32, 7).toString("base64")

/** Retries so late that during a test only a takeover can send a delivery again. */
export const DEFAULTS = {
  ENCRYPTION_KEY,
  DELIVERY_ALLOWED_TARGETS: "127.0.0.0/8",
  DELIVERY_ALLOW_HTTP: "true",
  DELIVERY_RETRY_DELAY: "1 hour",
  DELIVERY_REQUEST_TIMEOUT: "10 seconds",
  DELIVERY_BODY_TIMEOUT: "1 second",
  DRAIN_SECONDS: "0",
  LOG_FORMAT: "json",
  LOG_LEVEL: "warning"
} as const

export type Environment = Readonly<Record<string, string>>
