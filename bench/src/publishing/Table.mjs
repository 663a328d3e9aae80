/** The figures of publishing as lines to read: one for each way, number of connections and mode. */
const ms = (value) => (Number.isFinite(value) ? value.toFixed(3) : "?")

export const cellLine = ({ backends, connections, label, mode, node, p50, p99, postgres, rate, wal }) =>
  `${label.padEnd(32)} ${`${connections}`.padStart(3)} ${mode.padEnd(13)} ${rate.toFixed(0).padStart(6)}/s  ` +
  `p50 ${p50.toFixed(2).padStart(7)} p99 ${p99.toFixed(2).padStart(7)} ms  CPU ms each PostgreSQL ${ms(postgres)}` +
  ` (publishers' ${ms(backends)}) Node ${ms(node)}  WAL ${wal.toFixed(0)} B`

export const publishTable = ({ cells, large }) =>
  [
    ...cells.map(cellLine),
    ...(large
      ? [
          `20 KB to 10 endpoints: WAL ${(large.wal / 1000).toFixed(0)} KB, disk ${large.disk.toFixed(1)}x the payload`
        ]
      : [])
  ].join("\n")
