/**
 * What the request to an endpoint looks like: headers, authentication, the shape of the body, signatures. A member that is left
 * out is as for an endpoint without any.
 *
 * A secret (the value of a header that says `secret`, a password, a token) is written and never shown: in its place stands a
 * fingerprint. What is shown may be sent back, and keeps the secret that is stored. Pure. Source: spec §2.9.
 */
import { Redacted, Schema } from "effect"
import { kind } from "./internal/Literals.ts"

const HEADERS_MOST = 20
const VALUE_LIMIT = 2_048
/** Of names and values that are shown: each attempt records them. */
const SHOWN_LIMIT = 8_192

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
const VALUE = new RegExp(`^[\\x20-\\x7e]{1,${VALUE_LIMIT}}$`)

/** Posthorn's own, and those that HTTP needs for itself. */
const REFUSED =
  /^(?:host|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|content-.*|proxy-.*|webhook-.*|x-posthorn-.*|x-trace-id|accept-encoding|__proto__)$/i

/** What is wrong with a header that has no value. */
export const VALUE_MESSAGE = "Expected 1 to 2,048 visible ASCII characters and spaces"

const exact = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const HeaderName = Schema.String.pipe(
  Schema.pattern(NAME, { message: () => "Expected a header's name: 1 to 64 token characters" }),
  Schema.filter((name) => !REFUSED.test(name), {
    jsonSchema: {},
    message: () => "This header is Posthorn's own, or HTTP's: choose another name"
  })
).annotations({ description: "1 to 64 token characters; case means nothing.", examples: ["x-api-key"] })

const HeaderValue = Schema.String.pipe(Schema.pattern(VALUE, { message: () => VALUE_MESSAGE })).annotations({
  description: "1 to 2,048 visible ASCII characters and spaces.",
  examples: ["eu-1"]
})

/** Redacted as soon as it is read. */
const Secret = (description: string) => exact(Schema.Redacted(HeaderValue).annotations({ description }))

const Fingerprint = Schema.String.annotations({
  description: "16 hex digits: equal for equal secrets of one endpoint.",
  examples: ["5b2f8c0e9d7a4416"]
})

const IsSecret = Schema.Literal(true).annotations({ description: "Written, and never shown." })

/** What stands in the place of a secret. */
const hidden = { secret: IsSecret, fingerprint: Fingerprint }

/** In what is sent, both may be left out, and mean nothing. */
const shownBefore = { secret: exact(IsSecret), fingerprint: exact(Fingerprint) }

export const BodyShape = Schema.Literal("envelope", "payload", "standard", "cloudevents").annotations({
  description:
    "`envelope`: delivery id, type and payload. `payload`: the payload alone. `standard`: `type`, `timestamp` and `data` of Standard Webhooks. `cloudevents`: CloudEvents 1.0, structured.",
  examples: ["payload"]
})
export type BodyShape = typeof BodyShape.Type

const PLACEHOLDER = /\{[^{}]*\}/g

/** Made of text and these placeholders, of which `once` is there exactly once; other braces are refused. */
const template = (once: string, others: ReadonlyArray<string>, description: string, example: string) =>
  Schema.String.pipe(
    Schema.pattern(/^[\x20-\x7e]{1,256}$/, {
      message: () => "Expected 1 to 256 visible ASCII characters and spaces"
    }),
    Schema.filter(
      (text) => {
        const found = text.match(PLACEHOLDER) ?? []
        return (
          found.filter((one) => one === once).length === 1 &&
          found.every((one) => one === once || others.includes(one)) &&
          !/[{}]/.test(text.replace(PLACEHOLDER, ""))
        )
      },
      {
        jsonSchema: {},
        message: () => `Expected ${once} exactly once, and no other braces than ${others.join(" and ")}`
      }
    )
  ).annotations({
    description,
    examples: [example],
    // Nearly no text fits by chance.
    arbitrary: () => (fc) => fc.constant(example)
  })

export const HmacSignature = Schema.Struct({
  scheme: kind("hmac", "An HMAC in a header of its own."),
  header: HeaderName.annotations({
    description: "The header that holds the signature.",
    examples: ["x-hub-signature-256"]
  }),
  algorithm: Schema.Literal("sha1", "sha256", "sha512").annotations({
    description: "The hash.",
    examples: ["sha256"]
  }),
  encoding: Schema.Literal("hex", "base64").annotations({
    description: "How the signature is written.",
    examples: ["hex"]
  }),
  content: template(
    "{body}",
    ["{id}", "{timestamp}"],
    "What is signed: `{body}` once, `{timestamp}` and `{id}` where they are wanted.",
    "{timestamp}.{body}"
  ),
  format: template(
    "{signature}",
    ["{timestamp}", "{id}"],
    "The header's value: `{signature}` once, `{timestamp}` and `{id}` where they are wanted.",
    "t={timestamp},v1={signature}"
  )
})
export type HmacSignature = typeof HmacSignature.Type

export const SignatureRecipe = Schema.Union(
  Schema.Struct({ scheme: kind("standard_v1", "HMAC-SHA256 of Standard Webhooks.") }),
  Schema.Struct({
    scheme: kind(
      "standard_v1a",
      "Ed25519 of Standard Webhooks, by a key pair of its own, in the same header."
    )
  }),
  HmacSignature
).annotations({
  identifier: "SignatureRecipe",
  description: "A signature that is sent.",
  examples: [{ scheme: "standard_v1" }]
})
export type SignatureRecipe = typeof SignatureRecipe.Type

const Signatures = Schema.Array(SignatureRecipe)
  .pipe(Schema.minItems(1), Schema.maxItems(3))
  .annotations({
    description: "1 to 3 recipes, each of which is sent; left out, it is `standard_v1` alone.",
    examples: [[{ scheme: "standard_v1" }]]
  })

const Username = Schema.String.pipe(
  Schema.pattern(/^[\x20-\x39\x3b-\x7e]{1,256}$/, {
    message: () => "Expected 1 to 256 visible ASCII characters without a colon"
  })
).annotations({ examples: ["posthorn"] })

const Header = Schema.Union(
  Schema.Struct({ name: HeaderName, value: HeaderValue }),
  Schema.Struct({ name: HeaderName, ...hidden })
)

/** A text that may stand in a form, and has nothing to be escaped in JSON. */
const Word = (description: string, example: string) =>
  Schema.String.pipe(
    Schema.pattern(/^[\x20-\x7e]{1,512}$/, {
      message: () => "Expected 1 to 512 visible ASCII characters and spaces"
    })
  ).annotations({ description, examples: [example] })

const Pem = (limit: number) =>
  Schema.String.pipe(
    Schema.maxLength(limit),
    Schema.pattern(/^\s*-----BEGIN [A-Z ]+-----\r?\n[\x20-\x7e\r\n]+-----END [A-Z ]+-----\s*$/, {
      message: () => "Expected PEM: -----BEGIN …----- and -----END …-----, with lines of base64 between"
    })
  )

const oauth2 = {
  kind: kind("oauth2", "By a token that the token endpoint gives for client credentials (RFC 6749)."),
  tokenUrl: HeaderValue.annotations({
    description: "The token endpoint, under the rules for an endpoint's `url`.",
    examples: ["https://auth.example.com/token"]
  }),
  clientId: Word("The client's id.", "posthorn"),
  scope: exact(Word("Scopes to ask for, separated by spaces.", "webhooks:write")),
  audience: exact(Word("For token endpoints that ask for it.", "https://api.example.com")),
  sendCredentialsIn: exact(
    Schema.Literal("header", "body").annotations({
      description: "Where id and secret are sent to the token endpoint. Left out, it is `header` (Basic).",
      examples: ["header"]
    })
  )
}

const mtls = {
  kind: kind("mtls", "By a client certificate, in the TLS handshake."),
  certificate: Pem(16_384).annotations({
    description: "The certificate as PEM, and then those that lead to its authority: at most 5.",
    examples: ["-----BEGIN CERTIFICATE-----\nMIIB…\n-----END CERTIFICATE-----"]
  })
}

const Basic = kind("basic", "By name and password.")
const Bearer = kind("bearer", "By token.")

const AUTHENTICATION = "How Posthorn shows who it is: in `authorization`, or by a certificate."

const Authentication = Schema.Union(
  Schema.Struct({ kind: Basic, username: Username, ...hidden }),
  Schema.Struct({ kind: Bearer, ...hidden }),
  Schema.Struct({ ...oauth2, ...hidden }),
  Schema.Struct({ ...mtls, certificate: exact(mtls.certificate), ...hidden })
).annotations({ description: AUTHENTICATION })

const SentHeader = Schema.Struct({
  name: HeaderName,
  value: Secret("Left out of a secret one: as it is stored."),
  ...shownBefore
})

const SentAuthentication = Schema.Union(
  Schema.Struct({
    kind: Basic,
    username: Username,
    password: Secret("Left out: as it is stored."),
    ...shownBefore
  }),
  Schema.Struct({
    kind: Bearer,
    token: Secret("Left out: as it is stored."),
    ...shownBefore
  }),
  Schema.Struct({
    ...oauth2,
    clientSecret: Secret("Left out: as it is stored."),
    ...shownBefore
  }),
  Schema.Struct({
    ...mtls,
    privateKey: exact(
      Schema.Redacted(
        Pem(16_384).annotations({
          description: "As PEM: RSA up to 4,096 bits, P-256, P-384 or Ed25519. Left out: as it is stored."
        })
      )
    ),
    ...shownBefore
  })
).annotations({ description: AUTHENTICATION })

const shape = { body: exact(BodyShape), signatures: exact(Signatures) }

/** As it is stored and shown. */
export const RequestProfile = Schema.Struct({
  headers: exact(Schema.Array(Header).annotations({ description: "Headers of its own." })),
  authentication: exact(Authentication),
  ...shape
}).annotations({
  identifier: "RequestProfile",
  description: "What the request looks like, with fingerprints in the place of secrets.",
  // A worker of an older version must not send a request without what it does not know.
  parseOptions: { onExcessProperty: "error" }
})
export type RequestProfile = typeof RequestProfile.Type

const fields = Schema.Struct({
  headers: exact(
    Schema.Array(SentHeader).pipe(Schema.maxItems(HEADERS_MOST)).annotations({
      description:
        "At most 20 headers, each name once, whatever its case; names and values that are no secrets have at most 8,192 characters together."
    })
  ),
  authentication: exact(SentAuthentication),
  ...shape
})

/** Whether what is signed begins like the text of a standard signature: `<id>.<timestamp>.`. */
const isStandard = (content: string) =>
  /^[^.]+\.\d+\./.test(content.replaceAll("{id}", "id").replaceAll("{timestamp}", "0"))

/** The place of what is wrong, and what. */
const flaw = ({ authentication, headers = [], signatures = [] }: typeof fields.Type) => {
  const forging = signatures.findIndex((recipe) => recipe.scheme === "hmac" && isStandard(recipe.content))
  if (forging >= 0) {
    const message = "Expected another text than standard_v1 signs: use that recipe"
    return { path: ["signatures", forging, "content"], message }
  }
  const seen = new Set<string>(authentication === undefined ? [] : ["authorization"])
  const names = [
    ...headers.map(({ name }, n) => ({ name, path: ["headers", n, "name"] })),
    ...signatures.flatMap((recipe, n) =>
      recipe.scheme === "hmac" ? [{ name: recipe.header, path: ["signatures", n, "header"] }] : []
    )
  ]
  for (const { name, path } of names) {
    const lower = name.toLowerCase()
    if (seen.has(lower)) {
      const message =
        lower === "authorization" && authentication !== undefined
          ? "authorization is what authentication sends: leave one of them out"
          : "Expected each header once, whatever its case"
      return { path, message }
    }
    seen.add(lower)
  }
  let shown = 0
  for (const [n, { name, secret, value }] of headers.entries()) {
    shown += name.length + (value === undefined || secret ? 0 : Redacted.value(value).length)
    if (shown > SHOWN_LIMIT)
      return {
        path: ["headers", n, "value"],
        message: "Expected at most 8,192 characters in names and values of headers that are no secrets"
      }
  }
  return undefined
}

/** As it is sent to Posthorn. */
export const SentRequestProfile = fields.pipe(Schema.filter(flaw, { jsonSchema: {} })).annotations({
  identifier: "SentRequestProfile",
  description:
    "What the request looks like. A secret that is left out is kept, unless the URL's origin or path changes.",
  examples: [{ body: "payload" }],
  parseOptions: { onExcessProperty: "error" }
})
export type SentRequestProfile = typeof SentRequestProfile.Type

const STANDARD: ReadonlyArray<SignatureRecipe> = [{ scheme: "standard_v1" }]

export const signaturesOf = ({ signatures = STANDARD }: Pick<RequestProfile, "signatures">) => signatures

/** The recipes of `webhook-signature`, each once. */
export const standardSchemesOf = (profile: RequestProfile) => [
  ...new Set(signaturesOf(profile).flatMap(({ scheme }) => (scheme === "hmac" ? [] : [scheme])))
]

/** Whether a key pair of its own signs its requests. */
export const isSignedByKeyPair = (profile: RequestProfile | null) =>
  profile !== null && standardSchemesOf(profile).includes("standard_v1a")

export const shapeOf = ({ body = "envelope" }: Pick<RequestProfile, "body">) => body
