/**
 * A client certificate with its key, as an endpoint's request has them. What is wrong with them is found when they are set, so that
 * a connection does not fail for it later. A key is RSA with at most 4,096 bits, P-256, P-384 or Ed25519: signing with it, in each
 * handshake, takes the event loop. Source: spec §2.9.
 */
import { createHash, createPrivateKey, type KeyObject, X509Certificate } from "node:crypto"
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

/** RSA with 16,384 bits would cost a handshake 0.5 s. */
const RSA_MOST_BITS = 4_096
const CURVES: ReadonlySet<string | undefined> = new Set(["prime256v1", "secp384r1"])
/** Bytes of PEM: a certificate, and those that lead to its authority. */
const CHAIN_MOST = 16 * 1024
const CERTIFICATES_MOST = 5

const isUsable = ({ asymmetricKeyDetails, asymmetricKeyType }: KeyObject): boolean => {
  switch (asymmetricKeyType) {
    case "rsa":
      return (asymmetricKeyDetails?.modulusLength ?? 0) <= RSA_MOST_BITS
    case "ec":
      return CURVES.has(asymmetricKeyDetails?.namedCurve)
    default:
      return asymmetricKeyType === "ed25519"
  }
}

const isShort = (certificate: string): boolean =>
  certificate.length <= CHAIN_MOST && certificate.split("-----BEGIN ").length - 1 <= CERTIFICATES_MOST

/** What is wrong: with the certificate, the key, or because the key is another certificate's. */
export const flawOf = ({
  certificate,
  privateKey
}: ClientCertificate): "certificate" | "privateKey" | "pair" | null => {
  const read = attempt(() => new X509Certificate(certificate))
  if (read === null || !isShort(certificate) || !isUsable(read.publicKey)) return "certificate"
  if (attempt(() => createSecureContext({ cert: certificate })) === null) return "certificate"
  const key = attempt(() => createPrivateKey(Redacted.value(privateKey)))
  if (key === null || !isUsable(key)) return "privateKey"
  if (!read.checkPrivateKey(key)) return "pair"
  const together = () => createSecureContext({ cert: certificate, key: Redacted.value(privateKey) })
  return attempt(together) === null ? "pair" : null
}

/** The same for the same certificate and key. Connections are shared only by those that have the same. */
export const identityOf = ({ certificate, privateKey }: ClientCertificate): string =>
  createHash("sha256")
    .update(`${certificate}\0${Redacted.value(privateKey)}`)
    .digest("base64")
