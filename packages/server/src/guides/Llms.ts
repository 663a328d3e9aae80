/**
 * `/llms.txt`: what this service is and how to connect, for a program that reads before it acts.
 *
 * The list of operations is made from the contract, so it is complete. Source: spec §4.7.
 */
import { OpenApi } from "@effect/platform"
import { entries } from "@posthorn/api-contract/Contract"
import { Context, Option } from "effect"
import { VERIFYING } from "../http/openapi/Webhooks.ts"

const summaryOf = (entry: (typeof entries)[number]) =>
  Option.getOrElse(Context.getOption(entry.endpoint.annotations, OpenApi.Summary), () => entry.name)

const lineOf = (entry: (typeof entries)[number]) => {
  const path = entry.path.replace(/:(\w+)/g, "{$1}")
  return `- ${summaryOf(entry)}: \`${entry.method} ${path}\` · tool \`${entry.rules.tool}\` · permission \`${entry.rules.permission}\``
}

const operations = entries.map(lineOf).join("\n")

export const llmsText = (baseUrl: string) => `# Posthorn

> Delivers a platform's webhooks: signed, retried, evidenced, replayable. A workspace registers webhook endpoints; events
> published to it are posted to every endpoint whose subscriptions match.

Everything below needs an API token of a workspace, sent as \`Authorization: Bearer <token>\`. Whoever runs the workspace
can make one with the scopes you need; \`read\` looks, \`webhook:list\` also shows attempts, \`admin\` does everything.

## Connect as an agent (MCP)

- Streamable HTTP: \`${baseUrl}/mcp\`, with the header \`Authorization: Bearer <token>\`. Stateless, no session.
- Claude Code: \`claude mcp add --transport http posthorn ${baseUrl}/mcp --header "Authorization: Bearer <token>"\`
- stdio: the command \`posthorn mcp\` with \`POSTHORN_URL=${baseUrl}\` and \`POSTHORN_TOKEN=<token>\` in its environment.

Each operation is one tool with the same name in every installation; its arguments are the operation's path, query and
body members in one flat object. With a workspace's token \`slug\` can be left out. A refusal is a tool error whose text is
the REST error body: read \`detail\`, it says what to do. A token sees only the tools it may call.

When a webhook does not arrive, start with \`diagnose_webhook_endpoint\`.

## Connect as a program (REST)

- [OpenAPI document](${baseUrl}/openapi.json)
- [Interactive reference](${baseUrl}/reference)
- Lists take \`limit\` (1 to 200, default 50) and \`cursor\` (the \`nextCursor\` of the page before).
- Errors are \`application/problem+json\` with a \`_tag\`, a \`detail\` that says what to do, and a \`traceId\` to quote.

- Every POST that changes something takes an \`Idempotency-Key\`: sent again with the same key it changes nothing and gives the first answer.

## Choose how an endpoint is sent to

- \`policy\`: when deliveries are tried again, how fast, and when the endpoint is disabled.
- \`request\`: its headers, authentication (basic, bearer, OAuth 2, client certificate), body and signatures.
- \`revealSecret: true\`, at creation over REST: the answer has the new \`signingSecret\`, this once.
- \`signingSecret\`, at creation: takes over another sender's secret, so that receivers need no change.

## Receive webhooks

Unless the endpoint's \`request\` says otherwise, each delivery is a POST with the JSON body \`{"deliveryId", "eventType", "payload"}\`.
Verify it before you use it:

${VERIFYING}

In Node the package \`@posthorn/signature\` does it; any library of Standard Webhooks does too. When a signature does not
verify, \`explain_signature\` says why.

## More

- [All guides in one text](${baseUrl}/llms-full.txt): the first endpoint, publishing, receiving, the event catalogue, retries and rates, moving in, webhooks in a page of your own, the state machine, MCP, compatibility.

## Operations

${operations}
`
