/**
 * A client certificate with its key, as an endpoint's request has them. What is wrong with them is found when they are set, so that
 * a connection does not fail for it later. Source: spec §2.9.
 */
import { createHash, createPrivateKey, X509Certificate } from "node:crypto"
import { createSecureContext } from "node:tls"
import { Redacted } from "effect"

/** Both as PEM; after the certificate may stand those that lead to its authority. */
export interface ClientCertificate {
  readonly certificate: string
  readonly privateKey: Redacted.Redacted
}

/** In milliseconds since 1970. */
export interface Validity {
  readonly from: number
  readonly to: number
}

const attempt = <A>(read: () => A): A | null => {
  try {
    return read()
  } catch {
    return null
  }
}

/** Null if it is no certificate. */
export const validityOf = (certificate: string): Validity | null =>
  attempt(() => {
    const { validFrom, validTo } = new X509Certificate(certificate)
    return { from: Date.parse(validFrom), to: Date.parse(validTo) }
  })

export const isValidAt = ({ from, to }: Validity, now: number): boolean => from <= now && now < to

/** What is wrong: with the certificate, the key, or because the key is another certificate's. */
export const flawOf = ({
  certificate,
  privateKey
}: ClientCertificate): "certificate" | "privateKey" | "pair" | null => {
  const read = attempt(() => new X509Certificate(certificate))
  if (read === null || attempt(() => createSecureContext({ cert: certificate })) === null)
    return "certificate"
  const key = attempt(() => createPrivateKey(Redacted.value(privateKey)))
  if (key === null) return "privateKey"
  if (!read.checkPrivateKey(key)) return "pair"
  const together = () => createSecureContext({ cert: certificate, key: Redacted.value(privateKey) })
  return attempt(together) === null ? "pair" : null
}

/** The same for the same certificate and key. Connections are shared only by those that have the same. */
export const identityOf = ({ certificate, privateKey }: ClientCertificate): string =>
  createHash("sha256")
    .update(`${certificate}\0${Redacted.value(privateKey)}`)
    .digest("base64")
