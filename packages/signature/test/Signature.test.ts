import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { Webhook } from "standardwebhooks"
import { describe, expect, it } from "vitest"
import {
  decodeSecret,
  decodeStandardSecret,
  encodeSecret,
  generateSecret,
  InvalidSecret,
  sign,
  signWithKeys,
  type ToVerify,
  VerificationError,
  verify
} from "../src/index.ts"

interface Body {
  readonly body?: string
  readonly body_recipe?: {
    readonly prefix: string
    readonly repeat: string
    readonly times: number
    readonly suffix: string
  }
}
interface Case extends Body {
  readonly name: string
  readonly webhook_id: string
  readonly webhook_timestamp: string
  readonly webhook_signature: string
  readonly verify_at: number
}
interface Corpus {
  readonly accept: ReadonlyArray<
    Case & {
      readonly secrets: ReadonlyArray<string>
      readonly signatures: ReadonlyArray<string>
      readonly body_bytes: number
      readonly body_sha256: string
    }
  >
  readonly reject: ReadonlyArray<Case & { readonly secret: string; readonly why: string }>
  readonly producer_mistakes_on_minimal: Readonly<Record<string, string>>
}

const corpus: Corpus = JSON.parse(readFileSync(new URL("./corpora/signatures.json", import.meta.url), "utf8"))

const bodyOf = ({ body, body_recipe: recipe }: Body): string =>
  body ?? recipe!.prefix + recipe!.repeat.repeat(recipe!.times) + recipe!.suffix

const headersOf = (one: Case) => ({
  "webhook-id": one.webhook_id,
  "webhook-timestamp": one.webhook_timestamp,
  "webhook-signature": one.webhook_signature
})

const reasonOf = (request: ToVerify): string => {
  try {
    verify(request)
    return "verified"
  } catch (error) {
    return error instanceof VerificationError ? error.reason : `not a VerificationError: ${error}`
  }
}

const minimal = corpus.accept[0]!
const [secret, other] = [minimal.secrets[0]!, "whsec_ezqAwm7x+1dT9OX4T/8hxC7TzHAkOqoWn8ieswmoB1w="] as const
const good = { body: bodyOf(minimal), headers: headersOf(minimal), now: minimal.verify_at, secrets: secret }

describe("§4.1 every accepted vector", () => {
  it.each(corpus.accept.map((one) => [one.name, one] as const))(
    "%s is signed and verified alike",
    (_, one) => {
      const body = bodyOf(one)
      const bytes = Buffer.from(body)

      const header = sign({
        id: one.webhook_id,
        timestamp: Number(one.webhook_timestamp),
        body,
        secrets: one.secrets
      })

      expect(bytes.length).toBe(one.body_bytes)
      expect(createHash("sha256").update(bytes).digest("hex")).toBe(one.body_sha256)
      expect(header).toBe(one.webhook_signature)
      expect(header).toBe(one.signatures.join(" "))
      for (const alone of one.secrets) {
        for (const form of [body, bytes, new Uint8Array(bytes)]) {
          const proven = verify({ body: form, headers: headersOf(one), now: one.verify_at, secrets: alone })
          expect(proven).toEqual({ id: one.webhook_id, timestamp: Number(one.webhook_timestamp) })
        }
      }
    }
  )
})

describe("§4.1 every rejected vector", () => {
  const expected: Record<string, string> = {
    "future-301s": "timestamp_too_new",
    "empty-signature": "missing_header",
    "timestamp-not-a-number": "malformed_header"
  }

  it.each(corpus.reject.map((one) => [one.name, one] as const))("%s is refused", (name, one) => {
    const request = { body: bodyOf(one), headers: headersOf(one), now: one.verify_at, secrets: one.secret }

    expect(reasonOf(request)).toBe(expected[name] ?? "signature_mismatch")
  })

  it.each(Object.entries(corpus.producer_mistakes_on_minimal))(
    "a sender's mistake is refused: %s",
    (_, signature) => {
      const headers = { ...good.headers, "webhook-signature": signature }

      expect(signature).not.toBe(minimal.webhook_signature)
      expect(reasonOf({ ...good, headers })).toBe("signature_mismatch")
    }
  )
})

describe("§4.1 verify", () => {
  it("tries every entry with every secret, and skips unknown versions", () => {
    const [entry] = minimal.signatures
    const wrong = `v1,${"A".repeat(43)}=`
    const headers = { ...good.headers, "webhook-signature": `v1a,AAAA v2,x ${wrong} ${entry}` }

    expect(reasonOf({ ...good, headers, secrets: [other, secret] })).toBe("verified")
    expect(reasonOf({ ...good, headers, secrets: [other] })).toBe("signature_mismatch")
  })

  it("accepts a timestamp up to five minutes off in either direction, and nothing beyond", () => {
    const at = minimal.verify_at
    const seen = [-301, -300, 0, 300, 301].map((seconds) => reasonOf({ ...good, now: at + seconds }))

    expect(seen).toEqual(["timestamp_too_new", "verified", "verified", "verified", "timestamp_too_old"])
    expect(reasonOf({ ...good, now: at + 61, toleranceSeconds: 60 })).toBe("timestamp_too_old")
    expect(reasonOf({ ...good, now: at - 1, toleranceSeconds: 0 })).toBe("timestamp_too_new")
    expect(reasonOf({ ...good, now: Number.NaN })).toBe("timestamp_too_old")
  })

  it("uses the receiver's own clock when no time is given", () => {
    const timestamp = Math.floor(Date.now() / 1000)
    const signature = sign({ id: "whd_1", timestamp, body: "{}", secrets: [secret] })
    const headers = {
      "webhook-id": "whd_1",
      "webhook-timestamp": `${timestamp}`,
      "webhook-signature": signature
    }

    expect(reasonOf({ body: "{}", headers, secrets: secret })).toBe("verified")
    expect(reasonOf({ body: good.body, headers: good.headers, secrets: secret })).toMatch(/^timestamp_too_/)
  })

  it("reads fetch Headers, any case of a name, and Node's header objects", () => {
    const upper = Object.fromEntries(
      Object.entries(good.headers).map(([name, value]) => [name.toUpperCase(), value])
    )
    const node = { ...good.headers, "set-cookie": ["a", "b"], host: undefined }

    for (const headers of [new Headers(good.headers), upper, node]) {
      expect(reasonOf({ ...good, headers })).toBe("verified")
    }
  })

  it("refuses a header that is missing, empty or repeated", () => {
    for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"] as const) {
      const twice = { ...good.headers, [name]: [good.headers[name], good.headers[name]] }
      const bothCases = { ...good.headers, [name.toUpperCase()]: good.headers[name] }

      expect(reasonOf({ ...good, headers: { ...good.headers, [name]: undefined } })).toBe("missing_header")
      expect(reasonOf({ ...good, headers: { ...good.headers, [name]: "" } })).toBe("missing_header")
      expect(reasonOf({ ...good, headers: twice })).toBe("malformed_header")
      expect(reasonOf({ ...good, headers: bothCases })).toBe("malformed_header")
    }
    expect(reasonOf({ ...good, headers: new Headers() })).toBe("missing_header")
  })

  it.each([
    "-1",
    "+1767225600",
    " 1767225600",
    "1767225600.0",
    "01767225600",
    "1e9",
    "0x1",
    "Infinity",
    "٣",
    "9".repeat(16)
  ])("refuses the timestamp %j", (timestamp) => {
    const headers = { ...good.headers, "webhook-timestamp": timestamp }

    expect(reasonOf({ ...good, headers })).toBe("malformed_header")
  })

  it("refuses an id with a dot, because a dot moves bytes between id, timestamp and body", () => {
    const signed = signWithKeys("whd_1", 1767225600, "1767225600.{}", [decodeSecret(secret)])
    const headers = {
      "webhook-id": "whd_1.1767225600",
      "webhook-timestamp": "1767225600",
      "webhook-signature": signed
    }

    expect(signed).toBe(signWithKeys("whd_1.1767225600", 1767225600, "{}", [decodeSecret(secret)]))
    expect(reasonOf({ body: "{}", headers, now: 1767225600, secrets: secret })).toBe("malformed_header")
  })

  it("distinguishes a misconfigured receiver from a forged request", () => {
    expect(() => verify({ ...good, secrets: [] })).toThrow(TypeError)
    expect(() => verify({ ...good, secrets: "not a secret" })).toThrow(InvalidSecret)
  })
})

describe("§4.1 sign", () => {
  it("accepts decoded keys, text or bytes, for the worker's hot path", () => {
    const keys = [secret, other].map(decodeSecret)
    const header = sign({ id: "whd_1", timestamp: 1, body: "ë", secrets: [secret, other] })

    expect(signWithKeys("whd_1", 1, "ë", keys)).toBe(header)
    expect(signWithKeys("whd_1", "1", Buffer.from("ë"), keys)).toBe(header)
    expect(header.split(" ")).toHaveLength(2)
  })

  it("refuses what no receiver could verify, and signs for the first second of 1970", () => {
    const fine = { id: "whd_1", timestamp: 1, body: "", secrets: [secret] }

    expect(sign({ ...fine, timestamp: 0 })).toBe(signWithKeys("whd_1", 0, "", [decodeSecret(secret)]))
    for (const wrong of [{ id: "" }, { id: "a.b" }, { timestamp: 1.5 }, { timestamp: -1 }, { secrets: [] }]) {
      expect(() => sign({ ...fine, ...wrong })).toThrow(TypeError)
    }
  })
})

describe("§2.1 secrets", () => {
  it("are 32 random bytes, each time different", () => {
    const secrets = Array.from({ length: 1000 }, generateSecret)

    expect(new Set(secrets).size).toBe(1000)
    for (const one of secrets) {
      expect(one).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
      expect(encodeSecret(decodeSecret(one))).toBe(one)
    }
  })

  const key = secret.slice("whsec_".length)
  it.each([
    ["", "empty"],
    [key, "no prefix"],
    [`WHSEC_${key}`, "another prefix"],
    [`whsec_${key.slice(0, -1)}`, "no padding"],
    [`whsec_${key.replace("/", "_")}`, "URL-safe alphabet"],
    [`whsec_${key}\n`, "a line end"],
    [` ${secret}`, "a space"],
    [`whsec_${key.slice(0, -2)}N=`, "bits beyond the last byte"],
    [`whsec_${Buffer.alloc(31).toString("base64")}`, "31 bytes"],
    [`whsec_${Buffer.alloc(33).toString("base64")}`, "33 bytes"]
  ])("refuses %j (%s) without repeating it", (wrong) => {
    expect(() => decodeSecret(wrong)).toThrow(InvalidSecret)
    expect(() => decodeSecret(wrong)).not.toThrow(new RegExp(`${key.slice(0, 20).replace("+", "\\+")}`))
  })

  it("of another Standard Webhooks sender may have 24 to 64 bytes", () => {
    const lengths = [23, 24, 64, 65].map((length) => {
      try {
        return decodeStandardSecret(encodeSecret(new Uint8Array(length))).length
      } catch (error) {
        return error instanceof InvalidSecret
      }
    })

    expect(lengths).toEqual([true, 24, 64, true])
  })
})

describe("§4.1 the standardwebhooks library", () => {
  const now = Math.floor(Date.now() / 1000)
  const body = JSON.stringify({
    deliveryId: "whd_1",
    eventType: "user.created",
    payload: "Zoë 😀 \u2028 日本語"
  })
  const headersFor = (signature: string) => ({
    "webhook-id": "whd_1",
    "webhook-timestamp": `${now}`,
    "webhook-signature": signature
  })

  it("signs what we verify", () => {
    const signature = new Webhook(secret).sign("whd_1", new Date(now * 1000), body)

    expect(reasonOf({ body, headers: headersFor(signature), secrets: [other, secret] })).toBe("verified")
    expect(reasonOf({ body: `${body} `, headers: headersFor(signature), secrets: secret })).toBe(
      "signature_mismatch"
    )
  })
})
