/** Reads `/metrics` as a scraper would. */
import { execFile } from "node:child_process"
import { Effect } from "effect"

export interface Scrape {
  readonly text: string
  /** The sum of all series of this name with these labels; 0 when there is none. */
  readonly sum: (name: string, labels?: Readonly<Record<string, string>>) => number
}

const SAMPLE = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/

const read = (text: string): Scrape => {
  const samples = text.split("\n").flatMap((line) => {
    const found = SAMPLE.exec(line)
    return found === null ? [] : [{ name: found[1]!, labels: found[2] ?? "", value: Number(found[3]) }]
  })
  return {
    text,
    sum: (name, labels = {}) =>
      samples
        .filter((sample) => sample.name === name)
        .filter((sample) =>
          Object.entries(labels).every(([key, value]) => sample.labels.includes(`${key}="${value}"`))
        )
        .reduce((sum, { value }) => sum + value, 0)
  }
}

export const scrape = (origin: string) =>
  Effect.promise(async () => read(await (await fetch(`${origin}/metrics`)).text()))

/** The findings of Prometheus' own checker; undefined where it is not installed. */
export const findings = (text: string) =>
  Effect.async<string | undefined>((resume) => {
    const child = execFile("promtool", ["check", "metrics"], (error, out, err) =>
      resume(
        Effect.succeed(error !== null && "code" in error && error.code === "ENOENT" ? undefined : out + err)
      )
    )
    child.stdin?.on("error", () => undefined).end(text)
  })
