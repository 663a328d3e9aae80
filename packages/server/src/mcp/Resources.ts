/**
 * Resources: texts that an agent reads. They are made once, and open to every token, since they are also served without one.
 * Source: spec §4.7.
 */
import { Effect } from "effect"
import { llmsText } from "../guides/Llms.ts"
import { stateMachineText } from "../guides/StateMachine.ts"
import { RESOURCE_NOT_FOUND, RpcError } from "./JsonRpc.ts"

interface Resource {
  readonly uri: string
  readonly name: string
  readonly title: string
  readonly description: string
  readonly mimeType: string
  readonly text: string
}

export const makeResources = (baseUrl: string, openApi: string) => {
  const resources: ReadonlyArray<Resource> = [
    {
      uri: "posthorn://state-machine",
      name: "state-machine",
      title: "The delivery state machine",
      description:
        "What each delivery status means, what is retried and when, and when an endpoint is disabled.",
      mimeType: "text/markdown",
      text: stateMachineText
    },
    {
      uri: "posthorn://openapi",
      name: "openapi",
      title: "The OpenAPI document",
      description:
        "Every operation with its shapes, errors and examples; the tools are made from the same contract.",
      mimeType: "application/json",
      text: openApi
    },
    {
      uri: "posthorn://llms",
      name: "llms",
      title: "How to connect, and every operation in a line",
      description: "The same text as /llms.txt.",
      mimeType: "text/markdown",
      text: llmsText(baseUrl)
    }
  ]
  const listed = resources.map(({ text, ...resource }) => ({ ...resource, size: Buffer.byteLength(text) }))

  const read = (uri: string) => {
    const found = resources.find((resource) => resource.uri === uri)
    return found === undefined
      ? Effect.fail(
          new RpcError({
            code: RESOURCE_NOT_FOUND,
            message: "There is no resource of this URI: see resources/list."
          })
        )
      : Effect.succeed({ contents: [{ uri: found.uri, mimeType: found.mimeType, text: found.text }] })
  }

  return { listed, read } as const
}
