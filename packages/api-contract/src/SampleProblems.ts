/** One example of each refusal, for documents, made from the examples of its facts. */
import * as Errors from "@posthorn/domain/Errors"
import { Option, type Schema, SchemaAST } from "effect"

type Tag = Errors.PublicError["_tag"]

type Classes = Readonly<
  Record<Tag, (new (facts: object) => Errors.PublicError) & { readonly fields: Schema.Struct.Fields }>
>

/** A fact without an example fails a test, because the error cannot be constructed. */
export const sampleOf = (tag: Tag): Errors.PublicError => {
  const Refusal = (Errors as unknown as Classes)[tag]
  const { _tag, ...facts } = Refusal.fields
  const given = Object.entries(facts).flatMap(([name, { ast }]) =>
    Option.toArray(SchemaAST.getExamplesAnnotation(ast as SchemaAST.AST)).map(([example]) => [name, example])
  )
  return new Refusal(Object.fromEntries(given))
}
