/**
 * Runs the verifiers that the console offers, in their own languages, on really signed requests. TypeScript is also
 * compiled, strictly. The Go tests need a Go toolchain (Debian's golang-go), and Python's of public keys the package
 * cryptography: without them they are skipped with a message.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { HmacSignature, SignatureRecipe } from "@posthorn/domain/RequestProfile"
import {
  decodePrivateKey,
  decodeSecret,
  encodeSecret,
  generateKeyPair,
  generateSecret,
  signWithKeys,
  signWithRecipe
} from "@posthorn/signature"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Language, type SecretKind, verifierOf } from "../src/pages/endpoint/request/verifiers.ts"

const root = fileURLToPath(new URL("../../..", import.meta.url))

const hmac = (more: Partial<HmacSignature>): HmacSignature => ({
  scheme: "hmac",
  header: "X-Hub-Signature-256",
  algorithm: "sha256",
  encoding: "hex",
  content: "{body}",
  format: "sha256={signature}",
  ...more
})

/**
 * Together these cover both encodings, all hashes, signed and unsigned time and id, and all characters that a language might
 * misread.
 */
const recipes: ReadonlyArray<SignatureRecipe> = [
  { scheme: "standard_v1" },
  { scheme: "standard_v1a" },
  hmac({}),
  hmac({
    header: "stripe-signature",
    content: "{timestamp}.{body}",
    format: "t={timestamp},v1={signature}"
  }),
  hmac({
    header: "x-signature",
    algorithm: "sha512",
    encoding: "base64",
    content: "{id}|{timestamp}|{body}|end",
    format: "{id} {signature} {timestamp}"
  }),
  hmac({
    algorithm: "sha1",
    encoding: "base64",
    content: "v0:{timestamp}:{body}{id}",
    format: "{signature} "
  }),
  hmac({
    content: "\"'`\\n$%s#\\{id}$ {body}\"'`\\${timestamp}",
    format: "\"'`\\n$%d#{signature}${timestamp}'\"\\"
  })
]

const kinds: ReadonlyArray<SecretKind> = ["posthorn", "whsec", "text"]

interface Request {
  readonly file: string
  readonly recipe: SignatureRecipe
  readonly secret: string
  readonly headers: Readonly<Record<string, string>>
  /** Base64. */
  readonly body: string
  readonly isGenuine: boolean
  readonly what: string
}

const swapped = (text: string, at: number) =>
  text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1)

const keysOf = ({ scheme }: SignatureRecipe, kind: SecretKind) => {
  if (scheme === "standard_v1a") {
    const { privateKey, publicKey } = generateKeyPair()
    return { key: decodePrivateKey(privateKey), other: generateKeyPair().publicKey, secret: publicKey }
  }
  if (kind === "text") {
    const secret = "whsec_ an old platform's own secret"
    return { key: Buffer.from(secret), other: "whsec_ an old platform's 0wn secret", secret }
  }
  const secret = generateSecret()
  const isWhole = kind === "posthorn" && scheme === "hmac"
  return {
    key: isWhole ? Buffer.from(secret) : decodeSecret(secret),
    other: encodeSecret(Buffer.alloc(32, 1)),
    secret
  }
}

const requestsOf = (recipe: SignatureRecipe, kind: SecretKind, file: string): ReadonlyArray<Request> => {
  const { key, other, secret } = keysOf(recipe, kind)
  const body = Buffer.from('{"id":7,"name":"Zoë {id} {body}","n":1.0}')
  const header = recipe.scheme === "hmac" ? recipe.header : "webhook-signature"
  const id = "whd_64401b2c93f5e0b7d1c4a98e62f03"
  const signed = (timestamp: string) => ({
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    [header.toLowerCase()]:
      recipe.scheme === "hmac"
        ? signWithRecipe(recipe, { id, timestamp, body: body.toString() }, key as Buffer).trim()
        : signWithKeys(id, timestamp, body, [Buffer.alloc(32), key])
  })
  const now = Math.floor(Date.now() / 1000)
  const headers = signed(String(now))
  const value = headers[header.toLowerCase()]!
  const { [header.toLowerCase()]: _, ...unsigned } = headers
  const request = (what: string, isGenuine: boolean, more: Partial<Request> = {}): Request => ({
    file,
    recipe,
    secret,
    headers,
    body: body.toString("base64"),
    isGenuine,
    what: `${file}: ${what}`,
    ...more
  })
  const hasTime = recipe.scheme !== "hmac" || recipe.content.includes("{timestamp}")
  const hasId = recipe.scheme !== "hmac" || recipe.content.includes("{id}")
  const changed = Buffer.from(body)
  changed[body.length - 2]! ^= 1
  const where =
    recipe.scheme === "hmac"
      ? recipe.format.indexOf("{signature}")
      : value.indexOf(",", value.indexOf(" ")) + 1
  return [
    request("as it was sent", true),
    request("sent four minutes ago", true, { headers: signed(String(now - 240)) }),
    request("one byte of the body changed", false, { body: changed.toString("base64") }),
    request("one byte more", false, {
      body: `${Buffer.concat([body, Buffer.from(" ")]).toString("base64")}`
    }),
    request("one character of the signature changed", false, {
      headers: {
        ...headers,
        [header.toLowerCase()]: swapped(
          value,
          recipe.scheme === "hmac" ? lengthBefore(recipe, id, now) : where
        )
      }
    }),
    request("signed with another secret", false, { secret: other }),
    request("without a signature", false, { headers: unsigned }),
    request("without any header", false, { headers: {} }),
    request("with an empty secret", false, { secret: "" }),
    request("old", !hasTime, { headers: signed(String(now - 400)) }),
    request("from the future", !hasTime, { headers: signed(String(now + 400)) }),
    ...(hasTime
      ? [
          request("with another time", false, {
            headers: { ...headers, "webhook-timestamp": String(now + 1) }
          })
        ]
      : []),
    ...(hasId ? [request("with another id", false, { headers: { ...headers, "webhook-id": `${id}0` } })] : [])
  ]
}

/** Where the signature begins in the header. */
const lengthBefore = ({ format }: HmacSignature, id: string, now: number) =>
  format.split("{signature}")[0]!.replaceAll("{id}", id).replaceAll("{timestamp}", String(now)).length

const cases = recipes.flatMap((recipe, n) =>
  kinds.map((kind) => ({ recipe, kind, name: `recipe${n}${kind}` }))
)

const requests = cases.flatMap(({ kind, name, recipe }) => requestsOf(recipe, kind, name))

const PYTHON = `
import base64, importlib, json, sys
sys.path.insert(0, sys.argv[1])
answers = []
for request in json.load(sys.stdin):
    try:
        verify = importlib.import_module(request["file"]).verify
        answers.append(verify(request["secret"], request["headers"], base64.b64decode(request["body"])) is None)
    except ValueError:
        answers.append(False)
print(json.dumps(answers))
`

const goMain = `package main

import (
	"encoding/json"
	"net/http"
	"os"
${cases.map(({ name }) => `\n\t${name} "posthorn/${name}"`).join("")}
)

type request struct {
	File    string
	Secret  string
	Headers map[string]string
	Body    []byte
}

func main() {
	verifiers := map[string]func(string, http.Header, []byte) error{
${cases.map(({ name }) => `\t\t"${name}": ${name}.Verify,\n`).join("")}	}
	var requests []request
	if err := json.NewDecoder(os.Stdin).Decode(&requests); err != nil {
		panic(err)
	}
	answers := []bool{}
	for _, one := range requests {
		header := http.Header{}
		for name, value := range one.Headers {
			header.Set(name, value)
		}
		answers = append(answers, verifiers[one.File](one.Secret, header, one.Body) == nil)
	}
	json.NewEncoder(os.Stdout).Encode(answers)
}
`

const hasCryptography = spawnSync("python3", ["-c", "import cryptography"]).status === 0
if (!hasCryptography)
  process.stderr.write("No Python cryptography here, so its verifier of v1a is not run: install it.\n")

const hasGo = spawnSync("go", ["version"]).status === 0
if (!hasGo)
  process.stderr.write("No Go here, so Go's verifiers are not run: install it (apt-get install golang-go).\n")

describe("the verifiers", () => {
  let folder: string

  const write = (language: Language, pathOf: (name: string) => string) => {
    for (const { kind, name, recipe } of cases) {
      mkdirSync(join(folder, pathOf(name), ".."), { recursive: true })
      writeFileSync(join(folder, pathOf(name)), verifierOf(recipe, kind, language))
    }
  }

  const judge = (answers: ReadonlyArray<boolean>, asked = requests) =>
    expect(asked.map(({ what }, n) => [what, answers[n]])).toEqual(
      asked.map(({ isGenuine, what }) => [what, isGenuine])
    )

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "verifiers-"))
  })

  afterAll(() => rmSync(folder, { recursive: true }))

  it("§2.9 compile in TypeScript, accept a genuine request, and refuse one changed byte", async () => {
    write("TypeScript", (name) => `${name}.ts`)
    mkdirSync(join(folder, "node_modules"))
    const dependency = join(root, "packages/console/node_modules/standardwebhooks")
    symlinkSync(dependency, join(folder, "node_modules/standardwebhooks"))
    writeFileSync(join(folder, "package.json"), '{"type":"module"}')
    const typeRoots = join(root, "node_modules/@types")
    const compilerOptions = {
      target: "ES2022",
      module: "NodeNext",
      strict: true,
      noUnusedLocals: true,
      noUncheckedIndexedAccess: true,
      typeRoots: [typeRoots],
      types: ["node"]
    }
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions }))
    execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", folder])
    const answers: Array<boolean> = []
    for (const { body, file, headers, secret } of requests) {
      const { verify } = await import(/* @vite-ignore */ join(folder, `${file}.js`))
      try {
        verify(secret, headers, Buffer.from(body, "base64"))
        answers.push(true)
      } catch {
        answers.push(false)
      }
    }
    judge(answers)
  }, 60_000)

  it("§2.9 accept a genuine request in Python, and refuse one changed byte", () => {
    write("Python", (name) => `python/${name}.py`)
    const asked = requests.filter(({ recipe }) => hasCryptography || recipe.scheme !== "standard_v1a")
    const input = JSON.stringify(asked)
    const answered = execFileSync("python3", ["-c", PYTHON, join(folder, "python")], { input })
    judge(JSON.parse(answered.toString()), asked)
  }, 60_000)

  it.skipIf(!hasGo)(
    "§2.9 accept a genuine request in Go, and refuse one changed byte",
    () => {
      write("Go", (name) => `go/${name}/verify.go`)
      writeFileSync(join(folder, "go/go.mod"), "module posthorn\n\ngo 1.19\n")
      const cwd = join(folder, "go")
      expect(execFileSync("gofmt", ["-l", "."], { cwd }).toString()).toBe("")
      writeFileSync(join(folder, "go/main.go"), goMain)
      judge(JSON.parse(execFileSync("go", ["run", "."], { cwd, input: JSON.stringify(requests) }).toString()))
    },
    120_000
  )
})
