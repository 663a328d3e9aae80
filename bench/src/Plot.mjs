/** Bars of one run as SVG, written by hand: nothing to install, and it can be read in a diff. */
const WIDTH = 800
const BAR = 22
const GAP = 12
const LEFT = 270
const RIGHT = 110

const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")

const text = (x, y, words, more = "") => `<text x="${x}" y="${y}" ${more}>${escape(words)}</text>`

/** `bars`: label, parts ({ value, color }), shown. All parts of a bar lie in one line. */
const chart = (y, title, bars) => {
  const most = Math.max(...bars.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0)))
  const scale = (WIDTH - LEFT - RIGHT) / most
  let at = y + 34
  const lines = [text(20, y + 16, title, 'class="title"')]
  for (const { label, parts, shown } of bars) {
    let x = LEFT
    lines.push(text(LEFT - 10, at + BAR - 6, label, 'text-anchor="end"'))
    for (const { value, color } of parts) {
      lines.push(
        `<rect x="${x.toFixed(1)}" y="${at}" width="${(value * scale).toFixed(1)}" height="${BAR}" fill="${color}"/>`
      )
      x += value * scale
    }
    lines.push(text(x + 8, at + BAR - 6, shown, 'class="value"'))
    at += BAR + GAP
  }
  return { svg: lines.join("\n"), end: at }
}

const legend = (y, entries) =>
  entries
    .map(
      ([name, color], n) =>
        `<rect x="${LEFT + n * 130}" y="${y}" width="12" height="12" fill="${color}"/>${text(LEFT + 18 + n * 130, y + 11, name)}`
    )
    .join("\n")

const COLORS = { node: "#3b6ea5", postgres: "#7aa6c2", redis: "#c98b6b", ours: "#b5472f", theirs: "#8d99a6" }

export const plot = (throughput, about) => {
  const list = [...throughput.contestants].sort((a, b) => b.warm.rate - a.warm.rate)
  const rates = chart(
    10,
    "Deliveries per second (warm; signed, sent, evidence committed)",
    list.map(({ label, name, warm }) => ({
      label,
      shown: Math.round(warm.rate).toLocaleString("en"),
      parts: [{ value: warm.rate, color: name === "posthorn" ? COLORS.ours : COLORS.theirs }]
    }))
  )
  const costs = chart(
    rates.end + 20,
    "CPU milliseconds per delivery",
    list.map(({ label, warm }) => ({
      label,
      shown: warm.cpu.toFixed(3),
      parts: ["node", "postgres", "redis"].map((part) => ({ value: warm[part], color: COLORS[part] }))
    }))
  )
  const height = costs.end + 60
  const note = `${about.machine.cores} cores, load ${throughput.load.join(" to ")}, Node ${about.machine.node}, PostgreSQL ${about.postgres.version}, ${about.at.slice(0, 10)}`
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}">
<style>text { font: 13px system-ui, sans-serif; fill: #222 } .title { font-weight: 600; font-size: 15px } .value { fill: #555 }</style>
<rect width="100%" height="100%" fill="white"/>
${rates.svg}
${costs.svg}
${legend(costs.end + 4, [
  ["Node", COLORS.node],
  ["PostgreSQL", COLORS.postgres],
  ["Redis", COLORS.redis]
])}
${text(20, height - 14, note, 'class="value"')}
</svg>
`
}
