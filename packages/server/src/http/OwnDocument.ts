/** The OpenAPI document of this installation: made once, at start, for the pages and for MCP's resources. */
import { Effect } from "effect"
import { ServerConfig } from "../ServerConfig.ts"
import { openApiDocument } from "./OpenApiDocument.ts"

export class OwnDocument extends Effect.Service<OwnDocument>()("@posthorn/server/OwnDocument", {
  effect: Effect.map(ServerConfig, ({ baseUrl, version }) => {
    const document = openApiDocument({ baseUrl, version })
    return { document, text: JSON.stringify(document) } as const
  })
}) {}
