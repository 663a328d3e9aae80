/** A collector of OTLP, and the spans that it was sent. */
import { createServer } from "node:http"
import { text } from "node:stream/consumers"
import { Effect } from "effect"

export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly attributes: ReadonlyArray<{
    readonly key: string
    readonly value: Readonly<Record<string, unknown>>
  }>
}

/** Keeps what it is sent, until the scope closes. */
export const collector = Effect.gen(function* () {
  const got: Array<{ readonly path: string; readonly key: unknown; readonly body: string }> = []
  const server = createServer(async (request, response) => {
    got.push({ path: request.url!, key: request.headers["x-key"], body: await text(request) })
    response.writeHead(200, { "content-type": "application/json" }).end("{}")
  })
  yield* Effect.acquireRelease(
    Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.sync(() => server.close().closeAllConnections())
  )
  const { port } = server.address() as { readonly port: number }
  const spans = (): ReadonlyArray<Span> =>
    got
      .filter(({ path }) => path === "/v1/traces")
      .flatMap(({ body }) => JSON.parse(body).resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans)
      .flatMap((scope) => scope.spans)
  return { got, spans, url: `http://127.0.0.1:${port}` }
})
