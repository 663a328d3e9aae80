/**
 * Sends one message by SMTP, on a connection of its own, within a deadline.
 *
 * Guarantees: it ends within `MAIL_MS`, whatever the server does; then the connection is closed. A login goes over TLS, unless
 * SMTP_URL says that there is none. What it says of a failure is our words and the server's code; never the server's text, which may
 * hold anything. nodemailer is loaded with the first message.
 */
import { Effect, Redacted } from "effect"
import type SMTPConnection from "nodemailer/lib/smtp-connection"
import type { Smtp } from "./AlertConfig.ts"

export const CONNECT_MS = 10_000
export const MAIL_MS = 20_000

export type Told =
  | { readonly kind: "sent" }
  /** `final`: no further attempt would help. */
  | { readonly kind: "failed"; readonly error: string; readonly final: boolean }

export interface Message {
  /** Equal when it is sent again, so that a mail program may show it once. */
  readonly id: string
  readonly to: string
  readonly fromName: string
  readonly subject: string
  readonly text: string
  readonly html: string
}

const WORDS: Readonly<Record<string, string>> = {
  EDNS: "The mail server's name could not be resolved",
  ETIMEDOUT: "The mail server did not answer in time",
  ETLS: "TLS with the mail server could not be set up",
  EAUTH: "The mail server refused the login",
  EPROTOCOL: "The mail server's answer could not be understood"
}

const REFUSED: Readonly<Record<string, string>> = {
  "MAIL FROM": "The mail server refused the sender",
  "RCPT TO": "The mail server refused the recipient",
  DATA: "The mail server refused the message"
}

/** 550 5.1.1 */
const codeOf = ({ response = "", responseCode }: SMTPConnection.SMTPError): string => {
  if (responseCode === undefined) return ""
  const enhanced = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1]
  return ` (${responseCode}${enhanced === undefined ? "" : ` ${enhanced}`})`
}

/** nodemailer calls a certificate that is not trusted a socket's failure; what Node calls it, it keeps beside. */
const kindOf = ({ code = "", originalCode = "" }: SMTPConnection.SMTPError) =>
  /CERT|SIGNATURE|ALTNAME|SSL|TLS/.test(originalCode) ? "ETLS" : code

const failureOf = (error: SMTPConnection.SMTPError): Told => {
  const { command = "", responseCode = 0 } = error
  const code = kindOf(error)
  const refused = responseCode >= 400 ? REFUSED[command] : undefined
  const words = refused ?? WORDS[code] ?? "No connection to the mail server could be made"
  const isDeferred = refused !== undefined && responseCode < 500
  return {
    kind: "failed",
    error: `${isDeferred ? words.replace("refused", "deferred") : words}${codeOf(error)}`,
    final: responseCode >= 500 && (command === "RCPT TO" || command === "DATA")
  }
}

const optionsOf = ({ ca, host, port, security }: Smtp): SMTPConnection.Options => ({
  host,
  port,
  secure: security === "tls",
  requireTLS: security === "starttls",
  ignoreTLS: security === "none",
  connectionTimeout: CONNECT_MS,
  greetingTimeout: CONNECT_MS,
  socketTimeout: CONNECT_MS,
  dnsTimeout: CONNECT_MS,
  tls: { minVersion: "TLSv1.2", ...(ca === undefined ? {} : { ca }) }
})

const late: Told = { kind: "failed", error: WORDS.ETIMEDOUT!, final: false }

export const sendMail = (smtp: Smtp, message: Message, withinMs = MAIL_MS): Effect.Effect<Told> =>
  Effect.gen(function* () {
    const [{ default: Connection }, { default: Composer }] = yield* Effect.promise(() =>
      Promise.all([import("nodemailer/lib/smtp-connection"), import("nodemailer/lib/mail-composer")])
    )
    const { address, name } = smtp.from
    const bytes = yield* Effect.promise(() =>
      new Composer({
        from: { name: name ?? message.fromName, address },
        to: { name: "", address: message.to },
        subject: message.subject,
        text: message.text,
        html: message.html,
        messageId: `<${message.id}@${address.slice(address.indexOf("@") + 1)}>`,
        headers: { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All" },
        disableFileAccess: true,
        disableUrlAccess: true
      })
        .compile()
        .build()
    )
    return yield* Effect.async<Told>((resume) => {
      const connection = new Connection(optionsOf(smtp))
      const done = (told: Told) => {
        connection.close()
        resume(Effect.succeed(told))
      }
      const failed = (error: SMTPConnection.SMTPError) => done(failureOf(error))
      const send = () =>
        connection.send({ from: address, to: [message.to] }, bytes, (error) => {
          if (error !== null) return failed(error)
          connection.quit()
          done({ kind: "sent" })
        })
      connection.on("error", failed)
      connection.connect((error) => {
        if (error !== undefined) return failed(error)
        if (smtp.login === null) return send()
        const { password, user } = smtp.login
        connection.login({ user, pass: Redacted.value(password) }, (refused) =>
          refused === null || refused === undefined ? send() : failed(refused)
        )
      })
      return Effect.sync(() => connection.close())
    })
  }).pipe(Effect.timeoutTo({ duration: withinMs, onTimeout: () => late, onSuccess: (told) => told }))
