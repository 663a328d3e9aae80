/** Writes each scenario's figures to `results/<scenario>.json` and the plot, and prints the table against the goals. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { goalsOf } from "./Goals.mjs"
import { plot } from "./Plot.mjs"
import { publishTable } from "./publishing/Table.mjs"

const table = (rows) => {
  const columns = ["against", "goal", "got", "verdict"]
  const widths = columns.map((name) => Math.max(name.length, ...rows.map((row) => row[name].length)))
  const line = (row) => `| ${columns.map((name, n) => row[name].padEnd(widths[n])).join(" | ")} |`
  const head = Object.fromEntries(columns.map((name) => [name, name === "verdict" ? "" : name]))
  return [line(head), `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`, ...rows.map(line)].join(
    "\n"
  )
}

const throughputTable = ({ contestants }) =>
  contestants
    .map(
      ({ cold, duplicated, label, lost, rss, rssMost, warm }) =>
        `${label.padEnd(36)} cold ${cold.rate.toFixed(0).padStart(6)}/s  warm ${warm.rate.toFixed(0).padStart(6)}/s  CPU ms each ` +
        `${warm.node.toFixed(3)} Node + ${warm.postgres.toFixed(3)} PostgreSQL + ${warm.redis.toFixed(3)} Redis = ${warm.cpu.toFixed(3)}  ` +
        `WAL ${warm.wal.toFixed(0)} B (${warm.walWithEnqueue.toFixed(0)} with publishing)  RSS ${rss.toFixed(0)} (at most ${rssMost.toFixed(0)}) MB  lost ${lost} twice ${duplicated}`
    )
    .join("\n")

export const report = ({ about, results }, folder, say) => {
  for (const result of results)
    writeFileSync(
      join(folder, `${result.scenario}.json`),
      `${JSON.stringify({ about, ...result }, null, 1)}\n`
    )
  const throughput = results.find(({ scenario }) => scenario === "throughput")
  if (throughput) {
    writeFileSync(join(folder, "throughput.svg"), plot(throughput, about))
    say(`\nThroughput, medians\n${throughputTable(throughput)}`)
  }
  const published = results.find(({ scenario }) => scenario === "publish")
  if (published) say(`\nPublishing, medians\n${publishTable(published)}`)
  const rows = goalsOf(results).map(({ met, ...rest }) => ({
    ...rest,
    verdict: met === null ? "not measured" : met ? "met" : "NOT met"
  }))
  say(`\n${table(rows)}\n\nFigures and plot: ${folder}`)
}
