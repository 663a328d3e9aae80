/**
 * Getting events in. From SQL: the application's transaction as it is, with a plain outbox insert, with one publish, and
 * with what others put there; 1, 8 and 32 connections, then 16 on a disk that flushes slowly. Over REST: single events
 * from 1, 16 and 64 connections and batches of 100, beside Fastify with one insert for each request. Each with nobody
 * delivering ("alone"), and Posthorn's also while a worker delivers what is published.
 */

import { startProducer } from "../publishing/Measure.mjs"
import { restCells } from "../publishing/RestCells.mjs"
import { sqlCells } from "../publishing/SqlCells.mjs"
import { cellLine } from "../publishing/Table.mjs"
import { medians } from "../Run.mjs"

export const publish = async (bench, options) => {
  const producer = startProducer()
  const cells = new Map()
  const larges = []
  const emit = ({ label, name }, connections, mode, figures) => {
    const key = `${name} ${connections} ${mode}`
    const cell = cells.get(key) ?? { name, label, connections, mode, runs: [] }
    cell.runs.push(figures)
    cells.set(key, cell)
    bench.say(`  ${cellLine({ ...cell, ...figures })}`)
  }
  try {
    for (let rep = 0; rep < options.reps; rep++) {
      bench.say(` ${rep + 1}/${options.reps}`)
      const large = await sqlCells(bench, producer, rep, options, emit)
      if (large) larges.push(large)
      await restCells(bench, producer, rep, options, emit)
    }
  } finally {
    producer.stop()
  }
  return {
    scenario: "publish",
    options,
    cells: [...cells.values()].map(({ runs, ...cell }) => ({ ...cell, ...medians(runs), runs })),
    large: larges.length > 0 ? medians(larges) : null
  }
}
