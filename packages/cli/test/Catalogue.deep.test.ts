/** docs/catalogue.md as a platform and its customer follow it: its blocks are run one after another, and its receivers compiled. */
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { runCommand } from "@posthorn/testkit/Command"
import { untilAsked } from "@posthorn/testkit/Until"
import { expect, it } from "vitest"
import { asked, folder, OPERATOR_TOKEN, posthorn, runDev } from "./remote/Remote.ts"
import { compilers } from "./types/Compile.ts"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const guide = readFileSync(join(root, "docs", "catalogue.md"), "utf8")
const blocks = (language: string) =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map(([, block]) => block!)

runDev()

const shell = (script: string) =>
  new Promise<string>((resolve) => {
    const bash = spawn("bash", ["-e", "-u", "-o", "pipefail"], {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...asked(), OPERATOR_TOKEN, NO_COLOR: "1" }
    })
    let text = ""
    bash.stdout.on("data", (chunk) => (text += chunk))
    bash.stderr.on("data", (chunk) => (text += chunk))
    bash.once("close", () => resolve(text))
    bash.stdin.end(
      `posthorn() { ${JSON.stringify(process.execPath)} ${JSON.stringify(join(root, "build", "posthorn.mjs"))} "$@"; }\n${script}\necho FINISHED`
    )
  })

it("§6.2 a platform describes, checks and publishes its types, and receivers are compiled against them", async () => {
  const out = await shell(blocks("bash").join("\n"))

  expect(out).toContain("FINISHED")
  expect(out).toContain("bill.paid is described.")
  expect(out).toMatch(/^widened {3}\/id$/m)
  expect(out).toContain("2 of 2 events fit.")
  expect(out).toMatch(/^described +seat\.added$/m)
  const listed = () => runCommand(["event-types", "list"], { ...asked(), OPERATOR_TOKEN })
  await untilAsked(listed, ({ out }) => /^bill\.paid +Billing +yes +refuse +1$/m.test(out))
  const refused = await untilAsked(
    () => posthorn("send", "bill.paid", '{"id": "B-9", "total": "500"}'),
    ({ code }) => code === 1
  )
  expect(refused.err).toContain("/total")
  for (const [language, file] of [
    ["typescript", "webhooks.ts"],
    ["python", "webhooks.py"],
    ["go", "webhooks.go"]
  ] as const) {
    const types = readFileSync(join(folder, file), "utf8")
    const [receiver] = blocks(language)
    const good = await compilers[language](types, receiver!)
    const bad = await compilers[language](
      types,
      receiver!.replaceAll("seat.added", "seat.lost").replaceAll("SeatAdded", "SeatLost")
    )
    // Undefined where a compiler is not installed; Types.test.ts says so.
    expect(good?.isGood ?? true, good?.said).toBe(true)
    expect(bad?.isGood ?? false).toBe(false)
  }
}, 180_000)
