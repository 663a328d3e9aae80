/**
 * Whom a workspace wants to be told what, by e-mail or Slack.
 *
 * Whoever has a Slack URL may write into the channel, so the URL is written and never shown: in its place stands a fingerprint. What
 * is shown may be sent back, and keeps the URL that is stored. Pure. Source: spec §3.6.
 */
import { Schema } from "effect"
import { kind } from "./internal/Literals.ts"
import { URL_LIMIT } from "./WebhookUrl.ts"

export const ALERTS_MOST = 10

export const AlertCause = Schema.Literal("endpoint.failing", "endpoint.disabled", "delivery.dead_lettered")
export type AlertCause = typeof AlertCause.Type

export const AlertKind = Schema.Literal("email", "slack")
export type AlertKind = typeof AlertKind.Type

export const AlertState = Schema.Literal("pending", "sent", "failed")
export type AlertState = typeof AlertState.Type

const Causes = Schema.Array(AlertCause)
  .pipe(
    Schema.minItems(1),
    Schema.maxItems(3),
    Schema.filter((causes) => new Set(causes).size === causes.length, {
      jsonSchema: { uniqueItems: true },
      message: () => "Expected each cause once"
    })
  )
  .annotations({
    description:
      "`endpoint.failing`: half of what disables it has failed. `endpoint.disabled`: by its failures or by hand. `delivery.dead_lettered`: given up; the first at once, what follows within the hour together at its end.",
    examples: [["endpoint.failing", "endpoint.disabled"]]
  })

/** No quoted names and no comments, so that nothing in it has to be escaped in a header or a command of SMTP. */
const Address = Schema.String.pipe(
  Schema.maxLength(254),
  Schema.pattern(
    /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/
  )
).annotations({
  description: "An address in plain letters; at most 254 characters.",
  examples: ["oncall@example.com"],
  jsonSchema: { format: "email" },
  message: () => "Expected an email address such as oncall@example.com, at most 254 characters"
})

const Fingerprint = Schema.String.pipe(Schema.pattern(/^[0-9a-f]{16}$/)).annotations({
  description:
    "16 hex digits: equal for equal URLs of one workspace. Sent in place of `url`, it keeps the stored one.",
  examples: ["5b2f8c0e9d7a4416"]
})

const ByEmail = Schema.Struct({ kind: kind("email", "By e-mail."), to: Address, on: Causes })

const BySlack = Schema.Struct({ kind: kind("slack", "By Slack."), fingerprint: Fingerprint, on: Causes })

const ByNewSlack = Schema.Struct({
  kind: BySlack.fields.kind,
  url: Schema.Redacted(Schema.String.pipe(Schema.maxLength(URL_LIMIT))).annotations({
    description:
      "The address of an incoming webhook of Slack, under the rules for an endpoint's `url`. Never shown."
  }),
  on: Causes
})

export const Alert = Schema.Union(ByEmail, BySlack).annotations({
  identifier: "AlertSetting",
  description: "Whom to tell what.",
  examples: [{ kind: "email", to: "oncall@example.com", on: ["endpoint.failing", "endpoint.disabled"] }]
})
export type Alert = typeof Alert.Type

export const SentAlert = Schema.Union(ByEmail, BySlack, ByNewSlack).annotations({
  identifier: "SentAlertSetting",
  description: "Whom to tell what; Slack by `url`, or by the `fingerprint` of the stored one.",
  examples: [{ kind: "email", to: "oncall@example.com", on: ["endpoint.failing", "endpoint.disabled"] }]
})
export type SentAlert = typeof SentAlert.Type

/** Who is told: an address, or the fingerprint of a Slack URL. */
export const recipientOf = (alert: Alert): string => (alert.kind === "email" ? alert.to : alert.fingerprint)

/** The Slack URLs of a workspace by fingerprint, and the key that makes these; sealed as one text. */
export const AlertSecrets = Schema.Struct({
  fingerprintKey: Schema.Redacted(Schema.String),
  urls: Schema.Record({ key: Schema.String, value: Schema.Redacted(Schema.String) })
})
export type AlertSecrets = typeof AlertSecrets.Type
