/** The request of an attempt as a command that a shell reads as it stands. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** Set by curl itself, or by the connection. */
const LEFT_OUT = new Set(["host", "content-length", "connection", "accept-encoding"])

export const curlOf = (url: string, headers: Readonly<Record<string, string>>, payload: string) =>
  [
    // curl would read brackets and braces as patterns, and take dots out of the path.
    `curl --globoff --path-as-is ${quoted(url)}`,
    ...Object.entries(headers)
      .filter(([name]) => !LEFT_OUT.has(name))
      .map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)}`),
    `  --data-raw ${quoted(payload)}`
  ].join(" \\\n")
