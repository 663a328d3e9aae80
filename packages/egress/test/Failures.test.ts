import { describe, expect, it } from "@effect/vitest"
import { detailOf, whileConnecting, whileWaiting } from "../src/FailureReasons.ts"
import { AddressRefused, ResolutionFailed } from "../src/Names.ts"

const coded = (code: string) => Object.assign(new Error(code), { code })

describe("Failures", () => {
  it.each([
    [new ResolutionFailed(), false, "dns_failed"],
    [new AddressRefused(), false, "connection_failed"],
    [coded("ECONNREFUSED"), false, "connection_failed"],
    [coded("ECONNRESET"), true, "connection_failed"],
    [coded("EPIPE"), true, "connection_failed"],
    [coded("ETIMEDOUT"), true, "connection_failed"],
    [coded("EHOSTUNREACH"), true, "connection_failed"],
    [coded("ENETUNREACH"), true, "connection_failed"],
    [coded("ECONNABORTED"), true, "connection_failed"],
    [coded("CERT_HAS_EXPIRED"), true, "tls_failed"],
    [coded("ERR_TLS_CERT_ALTNAME_INVALID"), true, "tls_failed"],
    [coded("EPROTO"), true, "tls_failed"]
  ])("§4.5 names %s while connecting (TCP reached: %s) %s", (error, reached, reason) => {
    expect(whileConnecting(error, reached)).toBe(reason)
  })

  const reset = Object.assign(coded("ECONNRESET"), { syscall: "read" })
  it.each([
    [coded("ECONNREFUSED"), "connection_failed", "refused"],
    [reset, "connection_failed", "reset"],
    // What Node says when a connection ends during a TLS handshake.
    [coded("ECONNRESET"), "connection_failed", "closed_early"],
    [coded("EHOSTUNREACH"), "connection_failed", "unreachable"],
    [coded("UNABLE_TO_GET_ISSUER_CERT_LOCALLY"), "tls_failed", "unknown_issuer"],
    [coded("CERT_NOT_YET_VALID"), "tls_failed", "certificate_not_yet_valid"],
    [coded("ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION"), "tls_failed", "tls_version"],
    [coded("ERR_SSL_UNSUPPORTED_PROTOCOL"), "tls_failed", "tls_version"],
    [new AddressRefused(), "connection_failed", undefined],
    [coded("ECONNREFUSED"), "proxy_failed", undefined],
    [coded("ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED"), "tls_failed", "tls_other"]
  ] as const)("§4.5 says more of %s of %s: %s", (error, reason, detail) => {
    expect(detailOf(reason, error)).toBe(detail)
  })

  it.each([
    [coded("UND_ERR_SOCKET"), false, "connection_failed"],
    [coded("ECONNRESET"), false, "connection_failed"],
    [coded("UND_ERR_SOCKET"), true, "invalid_response"],
    [coded("HPE_INVALID_CONSTANT"), false, "invalid_response"],
    [coded("UND_ERR_HEADERS_OVERFLOW"), true, "invalid_response"],
    // openssl s_server -Verify 1, TLS 1.3: the client has sent its request before it learns of the refusal.
    [coded("ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED"), false, "tls_failed"]
  ])("§4.5 names %s while waiting (any byte: %s) %s", (error, answered, reason) => {
    expect(whileWaiting(error, answered)).toBe(reason)
  })
})
