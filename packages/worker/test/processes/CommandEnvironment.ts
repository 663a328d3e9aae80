/** The bundled command, as tests and the chaos run start it: where it is, and the environment it needs. */
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

/** As the tests' SecretBox: the key is 32 times 7. */
export const ENCRYPTION_KEY = Buffer.alloc(32, 7).toString("base64")

/** Retries so late that nothing but a take-over can bring a delivery back while a test runs. */
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
