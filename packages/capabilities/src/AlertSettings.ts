/**
 * Takes the Slack URLs out of alerts that were sent: fingerprints are stored in their place, and the URLs are sealed beside them. An entry
 * with a fingerprint keeps the URL that is stored. Source: spec §3.6.
 */
import { createHmac, randomBytes } from "node:crypto"
import { type Alert, AlertSecrets, recipientOf, type SentAlert } from "@posthorn/domain/Alerts"
import { EmailNotConfigured, InvalidRequest, type Issue } from "@posthorn/domain/Errors"
import type { WorkspaceId } from "@posthorn/domain/Ids"
import { describeReason, validateWebhookUrl } from "@posthorn/domain/WebhookUrl"
import { SecretBox } from "@posthorn/persistence/client/SecretBox"
import { Effect, Either, Option, Redacted, Schema } from "effect"
import { InstallationPolicy } from "./InstallationPolicy.ts"

const text = Schema.parseJson(AlertSecrets)
const encode = Schema.encodeSync(text)
const decode = Schema.decodeOption(text)

const none = (): AlertSecrets => ({
  fingerprintKey: Redacted.make(randomBytes(32).toString("base64")),
  urls: {}
})

const fingerprintOf = ({ fingerprintKey }: AlertSecrets, url: string): string =>
  createHmac("sha256", Buffer.from(Redacted.value(fingerprintKey), "base64"))
    .update(url)
    .digest("hex")
    .slice(0, 16)

const same = (one: Alert) => `${one.kind} ${recipientOf(one).toLowerCase()}`

export class AlertSettings extends Effect.Service<AlertSettings>()("@posthorn/capabilities/AlertSettings", {
  effect: Effect.gen(function* () {
    const box = yield* SecretBox
    const { allowedTargets, sendsEmail } = yield* InstallationPolicy

    /** URLs that cannot be read are as good as none: they have to be sent again. */
    const opened = (workspaceId: WorkspaceId, sealed: Buffer): AlertSecrets =>
      Either.getRight(box.open({ workspaceId, of: "alerts" }, sealed)).pipe(
        Option.flatMap((found) => decode(Redacted.value(found))),
        Option.getOrElse(none)
      )

    /** What is to be stored: the alerts as they are shown, and their URLs. */
    const next = (workspaceId: WorkspaceId, sealed: Buffer | null, sent: ReadonlyArray<SentAlert>) =>
      Effect.gen(function* () {
        if (!sendsEmail && sent.some(({ kind }) => kind === "email")) return yield* new EmailNotConfigured()
        const secrets = sealed === null ? none() : opened(workspaceId, sealed)
        const issues: Array<Issue> = []
        const refused = (n: number, member: string, message: string) =>
          issues.push({ path: `/alerts/${n}/${member}`, message })
        const urls: Record<string, Redacted.Redacted> = {}

        const shown = (alert: SentAlert, n: number): Alert => {
          if (alert.kind === "email") return alert
          if ("fingerprint" in alert) {
            const stored = Object.hasOwn(secrets.urls, alert.fingerprint)
              ? secrets.urls[alert.fingerprint]
              : undefined
            if (stored === undefined)
              refused(n, "fingerprint", "No URL of this fingerprint is stored: send its url")
            else urls[alert.fingerprint] = stored
            return alert
          }
          const url = Either.getOrElse(
            validateWebhookUrl(Redacted.value(alert.url), allowedTargets),
            (reason) => {
              refused(n, "url", `This URL is refused: ${describeReason(reason)}`)
              return ""
            }
          )
          const fingerprint = fingerprintOf(secrets, url)
          urls[fingerprint] = Redacted.make(url)
          return { kind: "slack", fingerprint, on: alert.on }
        }

        const alerts = sent.map(shown)
        alerts.forEach((alert, n) => {
          if (alerts.findIndex((other) => same(other) === same(alert)) < n)
            refused(n, alert.kind === "email" ? "to" : "url", "Expected each recipient once")
        })
        if (issues.length > 0) return yield* new InvalidRequest({ issues })
        const isWithout = Object.keys(urls).length === 0
        return {
          alerts,
          alertSecrets: isWithout
            ? null
            : box.seal({ workspaceId, of: "alerts" }, Redacted.make(encode({ ...secrets, urls })))
        }
      })

    return { next } as const
  })
}) {}
