/** The request of an attempt as a shell command. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** Set by curl itself, or by the connection. */
const LEFT_OUT = new Set(["host", "content-length", "connection", "accept-encoding"])

export const curlOf = (url: string, headers: Readonly<Record<string, string>>, body: string) =>
  [
    // curl would treat brackets and braces as patterns, and normalise dots in the path.
    `curl --globoff --path-as-is ${quoted(url)}`,
    ...Object.entries(headers)
      .filter(([name]) => !LEFT_OUT.has(name))
      .map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)}`),
    `  --data-raw ${quoted(body)}`
  ].join(" \\\n")
