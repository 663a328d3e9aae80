/** The OpenAPI document, derived from the contract that the handlers run. Source: spec §9. */
import { OpenApi } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"

/** The document of this installation. */
export const openApiDocument = (installation: { readonly baseUrl: string; readonly version: string }) => {
  const document = OpenApi.fromApi(Api)
  return {
    ...document,
    info: { ...document.info, version: installation.version },
    servers: [{ url: installation.baseUrl }]
  }
}
