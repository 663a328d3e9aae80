/** Tells a channel of Slack by its incoming webhook: a request through the guards of deliveries, to a URL that is checked again. */
import type { AllowedTargets } from "@posthorn/domain/AllowedTargets"
import { failureInWords } from "@posthorn/domain/FailureWords"
import { outcomeOf } from "@posthorn/domain/Verdict"
import { describeReason, validateWebhookUrl } from "@posthorn/domain/WebhookUrl"
import { Effect, Either, type Redacted, Redacted as Secret } from "effect"
import type { Sender } from "../attempt/Sender.ts"
import type { Told } from "./Mail.ts"

export const SLACK_MS = 10_000

const failed = (error: string, final: boolean): Told => ({ kind: "failed", error, final })

export const tellSlack = (
  sender: Sender["Type"],
  allowedTargets: AllowedTargets,
  workspaceId: string,
  url: Redacted.Redacted,
  body: string
): Effect.Effect<Told> =>
  Either.match(validateWebhookUrl(Secret.value(url), allowedTargets), {
    onLeft: (reason) => Effect.succeed(failed(`The Slack URL is refused: ${describeReason(reason)}`, true)),
    onRight: (valid) =>
      Effect.map(
        sender.send({ workspaceId, url: valid, headers: {}, body, requestTimeoutMs: SLACK_MS }),
        (seen): Told => {
          if (seen === null || seen === "no_turn") return failed("The worker could not send it", false)
          const { failureReason, status } = outcomeOf(seen)
          return status === "delivered"
            ? { kind: "sent" }
            : failed(
                failureInWords(failureReason, seen.httpStatus, seen.failureDetail ?? null),
                status === "failed_permanent"
              )
        }
      )
  })
