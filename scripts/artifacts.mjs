/**
 * Makes what a release consists of, of what is checked out, in a folder: `node scripts/artifacts.mjs [dist]`. The same commit gives
 * the same bytes.
 *
 *   *.tgz                 `posthorn`, `@posthorn/sdk`, `@posthorn/signature`, `@posthorn/client`, `@posthorn/embed` for npm
 *   *.whl                 `posthorn` for Python
 *   go/                   `posthorn-go`, as a module proxy serves it: GOPROXY=file://…/dist/go
 *   sbom.cdx.json         what the command contains
 *   SHA256SUMS            of all of these
 *   provenance.json       an in-toto statement: these files, from this commit; to be signed by whoever publishes them
 *
 * Needs Python 3 with pip, setuptools and wheel. Does not make the image: `docker build -f docker/Dockerfile .` does.
 */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { ensureInstalled, root } from "./install.mjs"
import { filesIn, pack, packages } from "./pack.mjs"
import { writeSbom } from "./sbom.mjs"

// Debian's, whose packages build it without the network.
const PYTHON = process.env.PYTHON ?? "/usr/bin/python3"
const GO_MODULE = "github.com/posthorn/posthorn-go"

const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim()

/** Copies what git knows of a folder, with the same modes on every machine, and the licence; gives the files' names. */
const copyTracked = (folder, into, isWanted) => {
  const files = git("ls-files", "--", folder)
    .split("\n")
    .map((file) => relative(folder, file))
    .filter(isWanted)
  for (const [from, to] of [...files.map((file) => [join(folder, file), file]), ["LICENSE", "LICENSE"]]) {
    mkdirSync(dirname(join(into, to)), { recursive: true })
    copyFileSync(join(root, from), join(into, to))
    chmodSync(join(into, to), 0o644)
  }
  return [...files, "LICENSE"].sort()
}

const inTemporary = (use) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-artifact-"))
  try {
    return use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const makeWheel = (into, madeAt) =>
  inTemporary((folder) => {
    // Building leaves files in the source.
    copyTracked("packages/sdk/python", folder, (file) => !file.startsWith("tests/"))
    const words = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    execFileSync(PYTHON, [...words, "--disable-pip-version-check", "--wheel-dir", resolve(into), "."], {
      cwd: folder,
      env: { ...process.env, SOURCE_DATE_EPOCH: String(madeAt) }
    })
  })

/** Zips with Python, which the wheel needs anyway. Every entry has the same date and mode. */
const ZIP = `
import sys, zipfile
target, prefix, *files = sys.argv[1:]
with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
    for file in files:
        entry = zipfile.ZipInfo(prefix + file, (1980, 1, 1, 0, 0, 0))
        entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
        archive.writestr(entry, open(file, "rb").read())
`

const makeGoModule = (into, madeAt) =>
  inTemporary((folder) => {
    const files = copyTracked("packages/sdk/go", folder, (file) => !file.startsWith("internal/"))
    const versions = join(into, "go", GO_MODULE, "@v")
    mkdirSync(versions, { recursive: true })
    const tag = `v${version}`
    writeFileSync(join(versions, "list"), `${tag}\n`)
    writeFileSync(
      join(versions, `${tag}.info`),
      JSON.stringify({ Version: tag, Time: new Date(madeAt * 1000).toISOString().replace(".000Z", "Z") })
    )
    cpSync(join(folder, "go.mod"), join(versions, `${tag}.mod`))
    const zip = resolve(versions, `${tag}.zip`)
    execFileSync(PYTHON, ["-c", ZIP, zip, `${GO_MODULE}@${tag}/`, ...files], { cwd: folder })
  })

/** Makes all of it; the folder is emptied first. */
export const makeArtifacts = async (into) => {
  rmSync(into, { recursive: true, force: true })
  mkdirSync(into, { recursive: true })
  // The wheel keeps the modes of its files.
  process.umask(0o022)
  const madeAt = Number(git("log", "-1", "--format=%ct"))
  for (const name of packages) await pack(name, into)
  makeWheel(into, madeAt)
  makeGoModule(into, madeAt)
  cpSync(writeSbom(), join(into, "sbom.cdx.json"))
  const subject = filesIn(into)
    .sort()
    .map((file) => ({
      name: relative(into, file),
      digest: { sha256: createHash("sha256").update(readFileSync(file)).digest("hex") }
    }))
  writeFileSync(
    join(into, "SHA256SUMS"),
    subject.map(({ digest, name }) => `${digest.sha256}  ${name}\n`).join("")
  )
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject,
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "https://github.com/posthorn/posthorn/blob/main/scripts/artifacts.mjs",
        externalParameters: { version },
        resolvedDependencies: [
          { uri: "git+https://github.com/posthorn/posthorn", digest: { gitCommit: git("rev-parse", "HEAD") } }
        ]
      },
      runDetails: { builder: { id: "https://github.com/posthorn/posthorn/blob/main/scripts/release.mjs" } }
    }
  }
  writeFileSync(join(into, "provenance.json"), `${JSON.stringify(statement, null, 2)}\n`)
  return subject.map(({ name }) => ({ name, bytes: statSync(join(into, name)).size }))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  ensureInstalled({ withConsole: true })
  const into = resolve(process.argv[2] ?? join(root, "dist"))
  for (const { bytes, name } of await makeArtifacts(into))
    console.log(`${String(Math.ceil(bytes / 1024)).padStart(7)} kB  ${name}`)
}
