/**
 * The files in docker/monitoring: Prometheus accepts them, every alert fires when it should, and dashboard and alerts use
 * only existing meters. ProcessesMeters.test.ts checks the meters' values.
 */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const folder = fileURLToPath(new URL("../../../docker/monitoring/", import.meta.url))
const file = (name: string) => readFileSync(`${folder}${name}`, "utf8")
const guide = readFileSync(fileURLToPath(new URL("../../../docs/monitoring.md", import.meta.url)), "utf8")

const NAME = /\b(?:posthorn|process|nodejs)_[a-z_]+/g
const families = (text: string) =>
  new Set([...text.matchAll(NAME)].map(([name]) => name.replace(/_(bucket|sum|count)$/, "")))

const promtool = (...words: ReadonlyArray<string>) =>
  new Promise<{ readonly missing: boolean; readonly failed: boolean; readonly said: string }>((resolve) => {
    execFile("promtool", [...words], { cwd: folder }, (error, out, err) => {
      const missing = error !== null && (error as NodeJS.ErrnoException).code === "ENOENT"
      resolve({ missing, failed: error !== null, said: out + err })
    })
  })

/** `.ci/run` installs promtool; where it is missing these tests are skipped. */
const { missing } = await promtool("--version")

describe("docker/monitoring", () => {
  it.skipIf(missing).each([
    ["check", "rules", "alerts.yml"],
    ["check", "config", "prometheus.yml"],
    ["test", "rules", "alerts.test.yml"]
  ])("§10 promtool %s %s %s finds nothing wrong", async (...words) => {
    const { failed, said } = await promtool(...words)
    expect(failed, said).toBe(false)
  })

  it("§10 dashboard, alerts and guide name the same meters", () => {
    const told = families(guide)
    for (const name of ["dashboard.json", "alerts.yml", "alerts.test.yml"])
      expect([...families(file(name))].filter((family) => !told.has(family))).toEqual([])
    expect([...told].filter((family) => family.startsWith("posthorn_queue_")).length).toBe(3)
  })

  it("§10 the guide says what to do about each alert", () => {
    const alerts = [...file("alerts.yml").matchAll(/- alert: (\w+)[\s\S]*?runbook_url: "(\S+ \S+ \S+)"/g)]
    expect(alerts.length).toBeGreaterThan(5)
    for (const [, name, runbook] of alerts) {
      expect(runbook).toBe(`{{ $externalLabels.docs }}/monitoring.md#${name!.toLowerCase()}`)
      expect(guide).toContain(`\n### ${name}\n`)
    }
  })
})
