/** Why `fetch` got no answer, in one line: a certificate that is not trusted is told from a server that is not there. */

/** The cause's code (`ECONNREFUSED`), which `fetch` hides three levels deep. */
const codeOf = (error: unknown): string | undefined => {
  for (let at = error; typeof at === "object" && at !== null; ) {
    const { cause, code } = at as { readonly code?: unknown; readonly cause?: unknown }
    if (typeof code === "string" && /^[A-Z_]+$/.test(code)) return code
    at = cause
  }
  return undefined
}

export const unreachable = (url: string, error: unknown): string => {
  const code = codeOf(error)
  const shown = code === undefined ? "" : ` (${code})`
  return /CERT|LEAF_SIGNATURE/.test(code ?? "")
    ? `The certificate of ${url} is not trusted${shown}. Set NODE_EXTRA_CA_CERTS=/path/to/ca.pem if its authority is a private one.`
    : `Posthorn cannot be reached at ${url}${shown}: check POSTHORN_URL, and that it runs.`
}
