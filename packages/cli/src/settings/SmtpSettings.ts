/** The server that takes e-mail, from `SMTP_URL` and `SMTP_FROM`, which need each other. */
import type { Smtp } from "@posthorn/worker/alerts/AlertConfig"
import { Either, Redacted } from "effect"

type Server = Omit<Smtp, "from">

const REFUSED =
  "is not smtp://[user:password@]host[:port] or smtps://…, special characters percent-encoded; ?tls=off for a server without TLS"

/** Its words repeat nothing of the value, which has a password. */
export const smtpUrl = (raw: string): Either.Either<Server, string> => {
  const url = URL.canParse(raw.trim()) ? new URL(raw.trim()) : undefined
  if (
    url === undefined ||
    !/^smtps?:$/.test(url.protocol) ||
    url.hostname === "" ||
    !/^\/?$/.test(url.pathname) ||
    url.hash !== "" ||
    !(url.search === "" || (url.search === "?tls=off" && url.protocol === "smtp:")) ||
    (url.username === "") !== (url.password === "")
  )
    return Either.left(REFUSED)
  const isTls = url.protocol === "smtps:"
  return Either.try({
    try: () => ({
      host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: url.port === "" ? (isTls ? 465 : 587) : Number(url.port),
      security: isTls ? ("tls" as const) : url.search === "" ? ("starttls" as const) : ("none" as const),
      login:
        url.username === ""
          ? null
          : {
              user: decodeURIComponent(url.username),
              password: Redacted.make(decodeURIComponent(url.password))
            }
    }),
    catch: () => REFUSED
  })
}

const FROM =
  /^(?:([^<>"\p{Cc}]{1,100}?)\s*<)?([A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,189})(>)?$/u

export const smtpFrom = (raw: string): Either.Either<Smtp["from"], string> => {
  const [, name, address, end] = FROM.exec(raw.trim()) ?? []
  return address === undefined || (name === undefined) !== (end === undefined)
    ? Either.left(`is "${raw}", but must be an address, or a name and an address in angle brackets`)
    : Either.right({ name: name?.trim() ?? null, address })
}
