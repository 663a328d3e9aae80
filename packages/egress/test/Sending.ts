/** A dispatcher with short deadlines, and requests and comparisons for its tests. */
import { authority } from "@posthorn/testkit/Certificates"
import { Effect } from "effect"
import { type DispatchOptions, type OutgoingRequest, open } from "../src/Dispatch.ts"
import type { Observation } from "../src/Observation.ts"

/**
 * Longer than a busy machine stalls, and than it takes to send to all misbehaving receivers at once, so that a stall does
 * not look like a timeout.
 */
export const REQUEST_TIMEOUT_MS = 12_000
export const BODY_TIMEOUT_MS = 3000
/** How late a deadline may be on a machine that is busy with the other tests. */
export const LATENESS_MS = 4000

export const BODY = JSON.stringify({
  deliveryId: "whd_1",
  eventType: "invoice.paid",
  payload: { total: "€ 1" }
})
export const HEADERS = {
  "webhook-id": "whd_1",
  "webhook-timestamp": "1790000000",
  "webhook-signature": "v1,AA==",
  "x-trace-id": "0af7651916cd43dd8448eb211c80319c"
}

/** Its requests as effects: interrupting one gives it up. */
export const dispatcher = (options: Partial<DispatchOptions> = {}) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      open({
        userAgent: "Posthorn/0.0.0-test",
        refuses: () => false,
        requestTimeoutMs: REQUEST_TIMEOUT_MS,
        bodyTimeoutMs: BODY_TIMEOUT_MS,
        ca: authority(),
        ...options
      })
    ),
    ({ close }) => Effect.sync(close)
  ).pipe(
    Effect.map(({ send, ...rest }) => ({
      ...rest,
      send: (request: OutgoingRequest) =>
        Effect.async<Observation>((resume) => {
          const cancel = send(request, (observation) =>
            resume(
              observation === null
                ? Effect.interrupt
                : observation === "no_turn"
                  ? Effect.die(observation)
                  : Effect.succeed(observation)
            )
          )
          return Effect.sync(cancel)
        })
    }))
  )

export type Sender = Effect.Effect.Success<ReturnType<typeof dispatcher>>

export const to = (url: string, workspaceId = "wsp_1") => ({ workspaceId, url, headers: HEADERS, body: BODY })

/** An observation without its duration and the kept headers, for comparison. */
export const seen = ({ durationMs: _, responseHeaders: __, ...rest }: Observation) => rest

export const failed = (
  failureReason: Observation["failureReason"],
  failureDetail?: Observation["failureDetail"]
) => ({
  httpStatus: null,
  failureReason,
  failureDetail,
  responseBody: null
})

export const ok = { httpStatus: 200, failureReason: null, responseBody: "ok" }
