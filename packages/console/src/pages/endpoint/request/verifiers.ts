/**
 * Code for a receiver that verifies one signature of an endpoint's requests, in TypeScript, Python and Go.
 *
 * Every verifier takes the raw body, compares in constant time, refuses a signed timestamp that is more than five minutes off, and
 * fails by an exception or an error, so that a forgotten result accepts nothing. An hmac header is compared whole: its time and id
 * are those of `webhook-timestamp` and `webhook-id`, which every request has. Pure. Source: spec §2.9 and §4.1.
 */
import type { HmacSignature, SignatureRecipe } from "@posthorn/domain/RequestProfile"

export const languages = ["TypeScript", "Python", "Go"] as const
export type Language = (typeof languages)[number]

/** Whose secret it is: Posthorn's, or one that was taken over, as `whsec_` and base64, or as a text. */
export type SecretKind = "posthorn" | "whsec" | "text"

export const verifierOf = (recipe: SignatureRecipe, secret: SecretKind, language: Language): string =>
  recipe.scheme === "hmac"
    ? hmac[language](readOf(recipe), secret === "whsec" ? "base64" : "text")
    : recipe.scheme === "standard_v1a"
      ? publicKey[language]
      : standard[language](secret === "text" ? "text" : "base64")

/** The key: the bytes of the base64 behind `whsec_`, or of the whole text. */
type KeyKind = "base64" | "text"

/** A template without its braces: literal text, and names of variables. */
type Piece = { readonly text: string } | { readonly name: string }

interface Read {
  readonly header: string
  readonly algorithm: HmacSignature["algorithm"]
  readonly encoding: HmacSignature["encoding"]
  readonly before: ReadonlyArray<Piece>
  readonly after: ReadonlyArray<Piece>
  readonly format: ReadonlyArray<Piece>
  readonly usesId: boolean
  readonly usesTimestamp: boolean
  /** Only a signed timestamp says when the request was made. */
  readonly signsTimestamp: boolean
}

const piecesOf = (template: string): ReadonlyArray<Piece> =>
  template
    .split(/(\{[a-z]+\})/)
    .filter((part) => part !== "")
    .map((part) => (part.startsWith("{") ? { name: part.slice(1, -1) } : { text: part }))

const readOf = ({ algorithm, content, encoding, format, header }: HmacSignature): Read => {
  const [before = "", after = ""] = content.split("{body}")
  const uses = (name: string) => `${content}${format}`.includes(name)
  return {
    header: header.toLowerCase(),
    algorithm,
    encoding,
    before: piecesOf(before),
    after: piecesOf(after),
    // HTTP takes spaces off both ends of a value.
    format: piecesOf(format.trim()),
    usesId: uses("{id}"),
    usesTimestamp: uses("{timestamp}"),
    signsTimestamp: content.includes("{timestamp}")
  }
}

/** Lines, without those that are left out. */
const lines = (...all: ReadonlyArray<string | false>) =>
  `${all.filter((line) => line !== false).join("\n")}\n`

/** As TypeScript and Go write a text of visible ASCII characters, and Python outside of f-strings. */
const quoted = (text: string) => JSON.stringify(text)

const NOT_WHSEC = "The secret must be the endpoint's, whsec_ included"
const NOT_WHPK = "The key must be the endpoint's public one, whpk_ included"
const NO_SECRET = "The secret is empty"
const NO_MATCH = "The signature does not match"
const TOO_OFF = "The timestamp is more than five minutes off"

const inTypeScript = (pieces: ReadonlyArray<Piece>) =>
  `\`${pieces
    .map((piece) => ("text" in piece ? piece.text.replace(/[`\\]|\$(?=\{|$)/g, "\\$&") : `\${${piece.name}}`))
    .join("")}\``

/** Literal texts have no braces: templates refuse them. */
const inPython = (pieces: ReadonlyArray<Piece>) =>
  `${pieces.some((piece) => "name" in piece) ? "f" : ""}"${pieces
    .map((piece) => ("text" in piece ? quoted(piece.text).slice(1, -1) : `{${piece.name}}`))
    .join("")}"`

const inGo = (pieces: ReadonlyArray<Piece>) =>
  pieces.map((piece) => ("text" in piece ? quoted(piece.text) : piece.name)).join(" + ")

const update = (pieces: ReadonlyArray<Piece>) =>
  pieces.length === 0 ? "" : `.update(${inTypeScript(pieces)})`

const typescriptKey = (secret: KeyKind) =>
  secret === "text"
    ? [`  if (secret === "") throw new Error(${quoted(NO_SECRET)})`, `  const key = Buffer.from(secret)`]
    : [
        `  if (!secret.startsWith("whsec_")) throw new Error(${quoted(NOT_WHSEC)})`,
        `  const key = Buffer.from(secret.slice("whsec_".length), "base64")`
      ]

const pythonKey = (secret: KeyKind) =>
  secret === "text"
    ? [`    if secret == "":`, `        raise ValueError(${quoted(NO_SECRET)})`, `    key = secret.encode()`]
    : [
        `    if not secret.startswith("whsec_"):`,
        `        raise ValueError(${quoted(NOT_WHSEC)})`,
        `    key = base64.b64decode(secret.removeprefix("whsec_"))`
      ]

/** Go's errors begin with a small letter. */
const goError = (message: string) =>
  `errors.New(${quoted(message.charAt(0).toLowerCase() + message.slice(1))})`

const goKey = (secret: KeyKind) =>
  secret === "text"
    ? [`\tif secret == "" {`, `\t\treturn ${goError(NO_SECRET)}`, `\t}`, `\tkey := []byte(secret)`]
    : [
        `\tkey, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))`,
        `\tif err != nil || !strings.HasPrefix(secret, "whsec_") {`,
        `\t\treturn ${goError(NOT_WHSEC)}`,
        `\t}`
      ]

const goImports = (...names: ReadonlyArray<string | false>) => [
  "import (",
  ...names
    .filter((name) => name !== false)
    .sort()
    .map((name) => `\t${quoted(name)}`),
  ")"
]

const ABOUT =
  "unless the request is genuine: answer 401 then. The body is the raw one, before any JSON parser."

const typescriptHead = [
  `/** Throws ${ABOUT} */`,
  "export const verify = (secret: string, headers: IncomingHttpHeaders, body: Buffer): void => {"
]

const pythonHead = [
  "def verify(secret: str, headers, body: bytes) -> None:",
  `    """Raises ValueError ${ABOUT}"""`,
  "    headers = {name.lower(): value for name, value in headers.items()}"
]

const goHead = [
  `// Verify returns an error ${ABOUT}`,
  "func Verify(secret string, header http.Header, body []byte) error {"
]

const goClock = [
  "\tseconds, err := strconv.ParseInt(timestamp, 10, 64)",
  "\tif err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {",
  `\t\treturn ${goError(TOO_OFF)}`,
  "\t}"
]

const pythonClock = [
  "    if not abs(time.time() - int(timestamp)) <= 300:",
  `        raise ValueError(${quoted(TOO_OFF)})`
]

const standard: Record<Language, (secret: KeyKind) => string> = {
  TypeScript: (secret) =>
    lines(
      "// npm install standardwebhooks",
      `import type { IncomingHttpHeaders } from "node:http"`,
      `import { Webhook } from "standardwebhooks"`,
      "",
      ...typescriptHead,
      secret === "text"
        ? `  new Webhook(secret, { format: "raw" }).verify(body, headers as Record<string, string>)`
        : "  new Webhook(secret).verify(body, headers as Record<string, string>)",
      "}"
    ),
  Python: (secret) =>
    lines(
      "import base64",
      "import hashlib",
      "import hmac",
      "import time",
      "",
      "",
      ...pythonHead,
      `    id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")`,
      ...pythonKey(secret),
      `    digest = hmac.new(key, f"{id}.{timestamp}.".encode() + body, hashlib.sha256).digest()`,
      `    expected = b"v1," + base64.b64encode(digest)`,
      `    entries = headers.get("webhook-signature", "").split(" ")`,
      "    if not any(hmac.compare_digest(expected, entry.encode()) for entry in entries):",
      `        raise ValueError(${quoted(NO_MATCH)})`,
      ...pythonClock
    ),
  Go: (secret) =>
    lines(
      "package receiver",
      "",
      ...goImports(
        "crypto/hmac",
        "crypto/sha256",
        "encoding/base64",
        "errors",
        "net/http",
        "strconv",
        "strings",
        "time"
      ),
      "",
      ...goHead,
      `\tid, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")`,
      ...goKey(secret),
      "\tmac := hmac.New(sha256.New, key)",
      `\tmac.Write([]byte(id + "." + timestamp + "."))`,
      "\tmac.Write(body)",
      `\texpected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))`,
      "\tmatches := false",
      `\tfor _, entry := range strings.Split(header.Get("webhook-signature"), " ") {`,
      "\t\tmatches = hmac.Equal([]byte(entry), []byte(expected)) || matches",
      "\t}",
      "\tif !matches {",
      `\t\treturn ${goError(NO_MATCH)}`,
      "\t}",
      ...goClock,
      "\treturn nil",
      "}"
    )
}

/** By the key that the endpoint shows, and the workspace publishes. */
const publicKey: Record<Language, string> = {
  TypeScript: lines(
    `import { createPublicKey, verify as ed25519 } from "node:crypto"`,
    `import type { IncomingHttpHeaders } from "node:http"`,
    "",
    typescriptHead[0]!,
    "export const verify = (publicKey: string, headers: IncomingHttpHeaders, body: Buffer): void => {",
    `  if (!publicKey.startsWith("whpk_")) throw new Error(${quoted(NOT_WHPK)})`,
    `  const x = Buffer.from(publicKey.slice("whpk_".length), "base64").toString("base64url")`,
    `  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" })`,
    `  const timestamp = String(headers["webhook-timestamp"])`,
    `  const signed = Buffer.concat([Buffer.from(\`\${headers["webhook-id"]}.\${timestamp}.\`), body])`,
    "  const fits = (entry: string) =>",
    `    entry.startsWith("v1a,") && ed25519(null, signed, key, Buffer.from(entry.slice("v1a,".length), "base64"))`,
    `  if (!String(headers["webhook-signature"]).split(" ").some(fits)) throw new Error(${quoted(NO_MATCH)})`,
    "  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300))",
    `    throw new Error(${quoted(TOO_OFF)})`,
    "}"
  ),
  Python: lines(
    "# pip install cryptography",
    "import base64",
    "import time",
    "",
    "from cryptography.exceptions import InvalidSignature",
    "from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey",
    "",
    "",
    "def verify(public_key: str, headers, body: bytes) -> None:",
    ...pythonHead.slice(1),
    `    if not public_key.startswith("whpk_"):`,
    `        raise ValueError(${quoted(NOT_WHPK)})`,
    `    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key.removeprefix("whpk_")))`,
    `    id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")`,
    `    signed = f"{id}.{timestamp}.".encode() + body`,
    `    for entry in headers.get("webhook-signature", "").split(" "):`,
    `        version, _, signature = entry.partition(",")`,
    "        try:",
    `            if version == "v1a":`,
    "                key.verify(base64.b64decode(signature), signed)",
    "                break",
    "        except (InvalidSignature, ValueError):",
    "            pass",
    "    else:",
    `        raise ValueError(${quoted(NO_MATCH)})`,
    ...pythonClock
  ),
  Go: lines(
    "package receiver",
    "",
    ...goImports("crypto/ed25519", "encoding/base64", "errors", "net/http", "strconv", "strings", "time"),
    "",
    goHead[0]!,
    "func Verify(publicKey string, header http.Header, body []byte) error {",
    `\tkey, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(publicKey, "whpk_"))`,
    `\tif err != nil || len(key) != ed25519.PublicKeySize || !strings.HasPrefix(publicKey, "whpk_") {`,
    `\t\treturn ${goError(NOT_WHPK)}`,
    "\t}",
    `\tid, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")`,
    `\tsigned := append([]byte(id+"."+timestamp+"."), body...)`,
    "\tmatches := false",
    `\tfor _, entry := range strings.Split(header.Get("webhook-signature"), " ") {`,
    `\t\tversion, encoded, _ := strings.Cut(entry, ",")`,
    "\t\tsignature, err := base64.StdEncoding.DecodeString(encoded)",
    `\t\tmatches = matches || version == "v1a" && err == nil && ed25519.Verify(key, signed, signature)`,
    "\t}",
    "\tif !matches {",
    `\t\treturn ${goError(NO_MATCH)}`,
    "\t}",
    ...goClock,
    "\treturn nil",
    "}"
  )
}

const hmac: Record<Language, (read: Read, secret: KeyKind) => string> = {
  TypeScript: (read, secret) =>
    lines(
      `import { createHmac, timingSafeEqual } from "node:crypto"`,
      `import type { IncomingHttpHeaders } from "node:http"`,
      "",
      ...typescriptHead,
      ...typescriptKey(secret),
      read.usesId && `  const id = String(headers["webhook-id"])`,
      read.usesTimestamp && `  const timestamp = String(headers["webhook-timestamp"])`,
      `  const mac = createHmac("${read.algorithm}", key)${update(read.before)}.update(body)${update(read.after)}`,
      `  const signature = mac.digest("${read.encoding}")`,
      `  const expected = Buffer.from(${inTypeScript(read.format)})`,
      `  const given = Buffer.from(String(headers[${quoted(read.header)}]))`,
      "  if (given.length !== expected.length || !timingSafeEqual(given, expected))",
      `    throw new Error(${quoted(NO_MATCH)})`,
      read.signsTimestamp && "  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300))",
      read.signsTimestamp && `    throw new Error(${quoted(TOO_OFF)})`,
      "}"
    ),
  Python: (read, secret) => {
    const part = (pieces: ReadonlyArray<Piece>) =>
      pieces.length === 0 ? [] : [`${inPython(pieces)}.encode()`]
    const content = [...part(read.before), "body", ...part(read.after)].join(" + ")
    return lines(
      (secret === "base64" || read.encoding === "base64") && "import base64",
      "import hashlib",
      "import hmac",
      read.signsTimestamp && "import time",
      "",
      "",
      ...pythonHead,
      read.usesId && `    id = headers.get("webhook-id", "")`,
      read.usesTimestamp && `    timestamp = headers.get("webhook-timestamp", "")`,
      ...pythonKey(secret),
      `    mac = hmac.new(key, ${content}, hashlib.${read.algorithm})`,
      read.encoding === "hex"
        ? "    signature = mac.hexdigest()"
        : "    signature = base64.b64encode(mac.digest()).decode()",
      `    expected = ${inPython(read.format)}`,
      `    given = headers.get(${quoted(read.header)}, "")`,
      "    if not hmac.compare_digest(expected.encode(), given.encode()):",
      `        raise ValueError(${quoted(NO_MATCH)})`,
      ...(read.signsTimestamp ? pythonClock : [])
    )
  },
  Go: (read, secret) => {
    const write = (pieces: ReadonlyArray<Piece>) =>
      pieces.length > 0 && `\tmac.Write([]byte(${inGo(pieces)}))`
    const hash = read.algorithm
    return lines(
      "package receiver",
      "",
      ...goImports(
        "crypto/hmac",
        `crypto/${hash}`,
        (secret === "base64" || read.encoding === "base64") && "encoding/base64",
        read.encoding === "hex" && "encoding/hex",
        "errors",
        "net/http",
        read.signsTimestamp && "strconv",
        secret === "base64" && "strings",
        read.signsTimestamp && "time"
      ),
      "",
      ...goHead,
      ...goKey(secret),
      read.usesId && `\tid := header.Get("webhook-id")`,
      read.usesTimestamp && `\ttimestamp := header.Get("webhook-timestamp")`,
      `\tmac := hmac.New(${hash}.New, key)`,
      write(read.before),
      "\tmac.Write(body)",
      write(read.after),
      read.encoding === "hex"
        ? "\tsignature := hex.EncodeToString(mac.Sum(nil))"
        : "\tsignature := base64.StdEncoding.EncodeToString(mac.Sum(nil))",
      `\texpected := ${inGo(read.format)}`,
      `\tif !hmac.Equal([]byte(header.Get(${quoted(read.header)})), []byte(expected)) {`,
      `\t\treturn ${goError(NO_MATCH)}`,
      "\t}",
      ...(read.signsTimestamp ? goClock : []),
      "\treturn nil",
      "}"
    )
  }
}
