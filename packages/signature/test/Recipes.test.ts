import { createPublicKey, verify as ed25519 } from "node:crypto"
import { readFileSync } from "node:fs"
import { verify as verifyLikeGitHub } from "@octokit/webhooks-methods"
import Stripe from "stripe"
import { expect, it } from "vitest"
import {
  decodePrivateKey,
  decodePublicKey,
  generateKeyPair,
  generateSecret,
  type HmacRecipe,
  InvalidSecret,
  sign,
  signWithRecipe,
  VerificationError,
  verify
} from "../src/index.ts"

interface Case {
  readonly id: string
  readonly timestamp: string
  readonly body: string
}
interface Vectors {
  readonly v1a: ReadonlyArray<
    Case & { readonly privateKey: string; readonly publicKey: string; readonly signature: string }
  >
  readonly hmac: ReadonlyArray<
    Case & { readonly key: string; readonly recipe: HmacRecipe; readonly value: string }
  >
}

const vectors: Vectors = JSON.parse(readFileSync(new URL("./corpora/recipes.json", import.meta.url), "utf8"))

const reasonOf = (secrets: string, one: Case, signature: string) => {
  const headers = { "webhook-id": one.id, "webhook-timestamp": one.timestamp, "webhook-signature": signature }
  try {
    return verify({ secrets, headers, body: one.body, now: Number(one.timestamp) }).id
  } catch (error) {
    return error instanceof VerificationError ? error.reason : error
  }
}

it("§4.1 signs and verifies v1a as another implementation does, beside v1", () => {
  const secret = generateSecret()
  for (const one of vectors.v1a) {
    const toSign = { ...one, timestamp: Number(one.timestamp) }
    const both = sign({ ...toSign, secrets: [secret, one.privateKey] })

    expect(sign({ ...toSign, secrets: [one.privateKey] })).toBe(one.signature)
    expect(sign({ ...toSign, body: Buffer.from(one.body), secrets: [one.privateKey] })).toBe(one.signature)
    expect(both.split(" ")[1]).toBe(one.signature)
    expect(reasonOf(one.publicKey, one, both)).toBe(one.id)
    expect(reasonOf(secret, one, both)).toBe(one.id)
    const other = vectors.v1a.find(({ publicKey }) => publicKey !== one.publicKey)!
    expect(reasonOf(other.publicKey, one, both)).toBe("signature_mismatch")
    expect(reasonOf(one.publicKey, { ...one, body: `${one.body} ` }, both)).toBe("signature_mismatch")
    for (const changed of ["v1a,", "v1a,AAAA", one.signature.replace("v1a", "v1"), `${one.signature}=`]) {
      expect(reasonOf(one.publicKey, one, changed)).toBe("signature_mismatch")
    }
  }
})

it("§4.1 makes key pairs, accepts a seed, and refuses invalid keys without repeating them", () => {
  const { privateKey, publicKey } = generateKeyPair()
  const [, x] = /^whpk_(.*)=$/.exec(publicKey)!
  const seed = Buffer.from(privateKey.slice("whsk_".length), "base64").subarray(0, 32)
  const one = { id: "whd_1", timestamp: 1, body: "{}" }
  const signature = sign({ ...one, secrets: [privateKey] })
  const jwk = {
    kty: "OKP",
    crv: "Ed25519",
    x: x!.replaceAll("+", "-").replaceAll("/", "_")
  }

  expect(
    ed25519(
      null,
      Buffer.from("whd_1.1.{}"),
      createPublicKey({ key: jwk, format: "jwk" }),
      Buffer.from(signature.slice("v1a,".length), "base64")
    )
  ).toBe(true)
  expect(sign({ ...one, secrets: [`whsk_${seed.toString("base64")}`] })).toBe(signature)
  for (const wrong of [publicKey, privateKey.slice(0, -4), privateKey.replace("whsk_", "whsec_"), ""]) {
    expect(() => decodePrivateKey(wrong)).toThrow(InvalidSecret)
    expect(() => decodePrivateKey(wrong)).not.toThrow(wrong.slice(6, 20) || "never")
  }
  for (const wrong of [privateKey, publicKey.slice(0, -1), ""]) {
    expect(() => decodePublicKey(wrong)).toThrow(InvalidSecret)
  }
})

it("§2.9 writes hmac headers as another implementation does, whatever braces a body contains", () => {
  for (const { key, recipe, value, ...signed } of vectors.hmac) {
    expect(signWithRecipe(recipe, signed, Buffer.from(key))).toBe(value)
  }
  expect(vectors.hmac).toHaveLength(24)
})

it("§2.9 signs what GitHub's and Stripe's own verifiers accept", async () => {
  const key = "an old platform's own secret"
  const timestamp = Math.floor(Date.now() / 1000)
  const signed = { id: "whd_1", timestamp, body: '{"id":"evt_1","object":"event","name":"Zoë"}' }
  const hex = { algorithm: "sha256", encoding: "hex" } as const

  const github = signWithRecipe(
    { ...hex, content: "{body}", format: "sha256={signature}" },
    signed,
    Buffer.from(key)
  )
  const stripe = signWithRecipe(
    { ...hex, content: "{timestamp}.{body}", format: "t={timestamp},v1={signature}" },
    signed,
    Buffer.from(key)
  )

  expect(await verifyLikeGitHub(key, signed.body, github)).toBe(true)
  expect(await verifyLikeGitHub(key, `${signed.body} `, github)).toBe(false)
  expect(Stripe.webhooks.constructEvent(signed.body, stripe, key).id).toBe("evt_1")
  expect(() => Stripe.webhooks.constructEvent(`${signed.body} `, stripe, key)).toThrow()
})
