/** `npm run release`, on a clone of what is committed, with a short `.ci/run`. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { VERSION } from "../src/Version.ts"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const clone = join(mkdtempSync(join(tmpdir(), "posthorn-release-")), "clone")
const read = (file: string, folder = clone) => readFileSync(join(folder, file), "utf8")

const run = (command: string, ...args: ReadonlyArray<string>) => {
  const { status, stderr, stdout } = spawnSync(command, [...args], { cwd: clone, encoding: "utf8" })
  return { status, said: `${stdout}${stderr}`.trim() }
}
const git = (...args: ReadonlyArray<string>) => run("git", ...args).said
const release = (...args: ReadonlyArray<string>) =>
  run(process.execPath, join(root, "scripts", "release.mjs"), ...args)

const commit = (file: string, text: string) => {
  writeFileSync(join(clone, file), text, { mode: 0o755 })
  git("add", file)
  git("commit", "--quiet", "--message", `Change ${file}`)
}

const PLACES = [
  "docker/Dockerfile",
  "package.json",
  "packages/cli/src/Version.ts",
  "packages/api-contract/openapi.json",
  "packages/sdk/python/pyproject.toml",
  "docker/kubernetes/kustomization.yaml",
  "docs/operate.md"
]

beforeAll(() => {
  spawnSync("git", ["clone", "--quiet", "--no-tags", root, clone])
  git("config", "user.name", "A")
  git("config", "user.email", "a@example.com")
  commit(".ci/run", "#!/bin/sh\nexit 0\n")
  commit(
    "docker/images.env",
    read("docker/images.env").replace(/(?<=^[A-Z_]+=.*)$/gm, `@sha256:${"0".repeat(64)}`)
  )
  commit("CHANGELOG.md", read("CHANGELOG.md").replace(/^## (?!Unreleased)[\s\S]*/m, ""))
})
afterAll(() => rmSync(join(clone, ".."), { recursive: true, force: true }))

describe("a release", () => {
  it("§9 has the same version everywhere", () => {
    expect(JSON.parse(read("package.json", root)).version).toBe(VERSION)
    expect(PLACES.filter((file) => !read(file, root).includes(VERSION))).toEqual([])
  })

  it("§9 is refused without a version, with changes that are not committed, and when .ci/run fails or changes files", () => {
    const before = git("rev-parse", "HEAD")
    expect(release("1.2").said).toMatch(/which version/)
    expect(release().status).toBe(1)

    commit("docker/images.env", read("docker/images.env").replace("@sha256:0", "@sha256:"))
    expect(release("1.2.3").said).toMatch(
      /^release: docker\/images\.env names images without a digest: NODE_IMAGE=/
    )
    git("reset", "--quiet", "--hard", before)

    writeFileSync(join(clone, "stray"), "")
    for (const words of [["1.2.3"], ["--dry-run"]])
      expect(release(...words)).toEqual({
        status: 1,
        said: "release: there are changes that are not committed"
      })
    rmSync(join(clone, "stray"))

    for (const [script, why] of [
      ["exit 3", /\.ci\/run failed/],
      ["touch stray", /\.ci\/run left changes/]
    ] as const) {
      commit(".ci/run", `#!/bin/sh\n${script}\n`)
      expect(release("1.2.3").said).toMatch(why)
      rmSync(join(clone, "stray"), { force: true })
      git("reset", "--quiet", "--hard", before)
    }
    expect(git("tag")).toBe("")
  })

  it("§9 with --dry-run says what it would do, and does nothing", () => {
    const { said, status } = release("1.2.3", "--dry-run")
    expect(status).toBe(0)
    expect(said).toContain("Publishing over REST")
    expect(said).toContain("would write package.json, ")
    expect(git("status", "--porcelain") + git("tag")).toBe("")
  })

  it("§9 is a commit with the version everywhere, a dated section of the changelog, and a tag with the notes", () => {
    const { said, status } = release("1.2.3")
    expect(status).toBe(0)
    expect(said).toContain("git push origin HEAD v1.2.3")
    for (const file of PLACES) expect(read(file)).toContain("1.2.3")
    expect(read("CHANGELOG.md")).toMatch(
      /^## Unreleased\n\n## 1\.2\.3 - \d{4}-\d\d-\d\d\n\nThe first version\.$/m
    )
    expect(git("log", "-1", "--format=%s")).toBe("Release 1.2.3")
    expect(git("describe")).toBe("v1.2.3")
    expect(git("tag", "--list", "--format=%(contents)")).toMatch(
      /^1\.2\.3\n\nThe first version\.\n\n### Added\n/
    )
    expect(release("--notes").said).toMatch(/^The first version\./)
    expect(git("status", "--porcelain")).toBe("")
  })

  it("§9 needs a greater version than the last one, and a changelog entry", () => {
    expect(release("1.3.0").said).toMatch(/tells nothing under "Unreleased"/)
    commit("CHANGELOG.md", read("CHANGELOG.md").replace("## Unreleased\n", "## Unreleased\n\n- More.\n"))
    for (const version of ["1.2.3", "1.2.2", "0.9.9"])
      expect(release(version).said).toBe(`release: ${version} is not greater than v1.2.3`)
    expect(release("1.10.0").status).toBe(0)
    expect(release("--notes").said).toBe("- More.")
    expect(git("describe")).toBe("v1.10.0")
  })
})
