/** The official cases of JSON Schema 2020-12 (github.com/json-schema-org/JSON-Schema-Test-Suite, MIT), for the keywords that the catalogue takes. */
import { readFileSync } from "node:fs"

type Case = readonly [description: string, data: unknown, valid: boolean]
type Group = readonly [file: string, description: string, schema: unknown, cases: ReadonlyArray<Case>]

export const groups: ReadonlyArray<Group> = JSON.parse(
  readFileSync(new URL("corpora/json-schema-2020-12.json", import.meta.url), "utf8")
)
