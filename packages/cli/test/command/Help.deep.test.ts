/** Pages of `--help` as they are printed: one line for each option, without the library's general options. */
import { spawnSync } from "node:child_process"
import { bundleFile, freshShell, makeBundle } from "@posthorn/testkit/Command"
import { beforeAll, describe, expect, it } from "vitest"
import { tidy } from "../../src/command/Help.ts"

beforeAll(makeBundle, 240_000)

const posthorn = (...words: ReadonlyArray<string>) =>
  spawnSync(process.execPath, [bundleFile, ...words], { encoding: "utf8", env: freshShell })

describe("help of a command", () => {
  it("§10 shows its usage, and each option in one line", () => {
    const { status, stdout } = posthorn("send", "--help")
    expect(status).toBe(0)
    expect(stdout.split("\n")[0]).toBe(
      "posthorn send [--file text] [--idempotency-key text] [--endpoint text]... [--no-retry] <type> [<payload>]"
    )
    expect(stdout).toMatch(/^ {2}--file text +Reads the payload from a file\.$/m)
    expect(stdout).not.toMatch(/user-defined|true or false|optional\.|redacted/)
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(120)
  })

  it("§10 names subcommands together with their command", () => {
    expect(posthorn("endpoints", "--help").stdout).toMatch(/^ {2}create .*<url>\n* +Registers an endpoint/m)
    expect(posthorn("endpoints", "create", "--help").stdout).toMatch(
      /^posthorn endpoints create --event-types/
    )
  })

  it("§10 names every command, and every subcommand", () => {
    const { stdout } = posthorn("help")
    const script = posthorn("--completions", "bash").stdout
    const names = new Set(
      [...script.matchAll(/ posthorn\w*,([a-z_]+)\)/g)].map(([, name]) => name!.replaceAll("__", "-"))
    )
    expect(names.size).toBeGreaterThan(25)
    for (const name of names) expect(stdout).toMatch(new RegExp(`\\b${name}\\b`))
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(120)
  })

  it("§10 is found in every usual way", () => {
    expect(posthorn("help", "replay").stdout).toBe(posthorn("replay", "--help").stdout)
    for (const name of ["serve", "work", "doctor", "mcp", "console-link", "endpoints"]) {
      const { status, stdout } = posthorn(name, "--help")
      expect([status, stdout.startsWith(`posthorn ${name}`)], name).toEqual([0, true])
    }
    expect(posthorn("console-link", "--help").stdout).toMatch(/--role .*viewer/)
  })

  it("§10 suggests a mistyped command, and accepts options before it", () => {
    expect(posthorn("deliverys")).toMatchObject({
      status: 2,
      stderr: "posthorn knows no command deliverys: did you mean deliveries?\n"
    })
    expect(posthorn("xyzzyx").stderr).toContain("see posthorn help")
    expect(posthorn("--url", "foo", "--token", "phk_1", "deliveries").stderr).toContain(
      "--url) must be an http or https address"
    )
    expect(posthorn("serve", "--port", "9000").stderr).toContain("it is set by variables")
  })

  it("§10 leaves every other text alone", () => {
    expect(tidy("a script\n--token redacted")).toBe("a script\n--token redacted")
  })
})

describe("a wrong option", () => {
  it("§10 is named, and so is the expected value", () => {
    expect(posthorn("recover", "whe_1").stderr).toBe("posthorn: --since is missing\n")
    expect(posthorn("deliveries", "--limit", "abc").stderr).toBe('posthorn: "abc" is no whole number\n')
  })
})

describe("pasted values", () => {
  it("§10 a token with a line break is reported as such, not as an unreachable server", () => {
    const { status, stderr } = posthorn("deliveries", "--url", "http://127.0.0.1:9", "--token", "phk_a\nb")
    expect([status, stderr]).toEqual([2, expect.stringContaining("copy it again")])
  })

  it("§10 a future time is refused as a beginning", () => {
    const { status, stderr } = posthorn(
      ...["recover", "whe_1", "--since", "2999-01-01T00:00:00Z", "--yes"],
      ...["--url", "http://127.0.0.1:9", "--token", "phk_1", "--workspace", "acme"]
    )
    expect([status, stderr]).toEqual([2, expect.stringContaining("still to come")])
  })
})
