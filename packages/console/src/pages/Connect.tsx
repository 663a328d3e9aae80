/** How programs and agents reach this workspace: commands and settings with this host and workspace filled in. */
import { isEmbedded } from "../session/embedding.ts"
import { Link } from "../session/Link.tsx"
import { useSession } from "../session/session.tsx"
import { Code } from "../ui/Code.tsx"
import { Card, Page } from "../ui/Layout.tsx"
import { publishCommand } from "./publishCommand.ts"

const json = (value: unknown) => JSON.stringify(value, null, 2)

const sections = (origin: string, slug: string) => [
  {
    title: "curl",
    about: "Publish an event over REST.",
    blocks: [{ label: "Shell", text: publishCommand(slug) }]
  },
  {
    title: "SQL",
    about: "Publish inside your own transaction: commit means delivered, rollback means never.",
    blocks: [
      {
        label: "SQL",
        text: `begin;
update invoices set paid_at = now() where id = 7;
select posthorn.publish('${slug}', 'invoice.paid', '{"id":7}', 'invoice-7-paid');
commit;`
      }
    ]
  },
  {
    title: "Command line",
    about:
      "Publish, look, recover, and receive on your own machine. From a clone, posthorn is node build/posthorn.mjs.",
    blocks: [
      {
        label: "Shell",
        text: `export POSTHORN_URL=${origin}
posthorn deliveries --watch
posthorn listen http://localhost:3000/webhooks`
      }
    ]
  },
  {
    title: "Typed client",
    about: "@posthorn/client, for programs on Effect.",
    blocks: [
      {
        label: "TypeScript",
        text: `import { FetchHttpClient } from "@effect/platform"
import { make } from "@posthorn/client"
import { Effect, Redacted } from "effect"

const publish = Effect.gen(function* () {
  const posthorn = yield* make({
    baseUrl: "${origin}",
    token: Redacted.make(process.env.POSTHORN_TOKEN!)
  })
  return yield* posthorn.events.publishEvent({
    path: { slug: "${slug}" },
    headers: {},
    payload: { eventType: "invoice.paid", payload: { id: 7 } }
  })
})

await Effect.runPromise(Effect.provide(publish, FetchHttpClient.layer))`
      }
    ]
  },
  {
    title: "MCP",
    about: "Lets an agent see, test, diagnose and replay, as far as its token allows.",
    blocks: [
      {
        label: "Claude Code",
        text: `claude mcp add --transport http posthorn ${origin}/mcp \\
  --header "Authorization: Bearer $POSTHORN_TOKEN"`
      },
      {
        label: "Cursor (mcp.json)",
        text: json({
          mcpServers: {
            posthorn: { url: `${origin}/mcp`, headers: { Authorization: "Bearer ${env:POSTHORN_TOKEN}" } }
          }
        })
      },
      {
        label: "VS Code (.vscode/mcp.json)",
        text: json({
          servers: {
            posthorn: {
              type: "http",
              url: `${origin}/mcp`,
              headers: { Authorization: "Bearer ${input:posthorn}" }
            }
          },
          inputs: [
            { type: "promptString", id: "posthorn", description: "Posthorn API token", password: true }
          ]
        })
      },
      {
        label: "A client that starts a command",
        text: json({
          mcpServers: {
            posthorn: {
              command: "posthorn",
              args: ["mcp"],
              env: { POSTHORN_URL: origin, POSTHORN_TOKEN: "phk_…" }
            }
          }
        })
      }
    ]
  }
]

export const Connect = () => {
  const { may, slug } = useSession()
  return (
    <Page
      title="Connect"
      about={
        <>
          Filled in with this host and workspace. Put a token into{" "}
          <code className="text-xs">POSTHORN_TOKEN</code> first
          {may("createApiToken") ? (
            <>
              :{" "}
              <Link
                to="/w/$slug/api-tokens"
                params={{ slug }}
                className="rounded text-accent-text underline underline-offset-2"
              >
                API tokens
              </Link>
            </>
          ) : (
            ""
          )}
          .
          {isEmbedded ? null : (
            <>
              {" "}
              All operations are in the{" "}
              <a href="/reference" className="rounded text-accent-text underline underline-offset-2">
                reference
              </a>
              .
            </>
          )}
        </>
      }
    >
      <div className="grid gap-5">
        {sections(location.origin, slug).map(({ about, blocks, title }) => (
          <Card key={title} title={title} about={about}>
            <div className="grid gap-4">
              {blocks.map(({ label, text }) => (
                <div key={label} className="grid gap-1.5">
                  {blocks.length > 1 ? <h3 className="text-xs font-medium text-faint">{label}</h3> : null}
                  <Code text={text} label={`${title}: ${label}`} whole />
                </div>
              ))}
            </div>
          </Card>
        ))}
      </div>
    </Page>
  )
}
