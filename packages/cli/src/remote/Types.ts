/** `posthorn types`: code with the types of all described events, made from the catalogue's OpenAPI document. */
import { describedTypes } from "@posthorn/domain/catalogue/FromOpenApi"
import { Effect } from "effect"
import { say } from "../command/Terminal.ts"
import { go } from "../types/Go.ts"
import { python } from "../types/Python.ts"
import { typeScript } from "../types/TypeScript.ts"
import { Posthorn } from "./Posthorn.ts"

export const languages = { typescript: typeScript, python, go }
export type Language = keyof typeof languages

export const types = (language: Language) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const { text } = yield* ask(({ catalogue }) =>
      catalogue.getEventTypeDocument({ path: { slug }, urlParams: {}, withResponse: true })
    )
    yield* say(languages[language](describedTypes(JSON.parse(text)) ?? []).trimEnd())
  })
