/** One of each refusal, for documents: made of the examples that its facts carry, and said by the error itself. */
import * as Errors from "@posthorn/domain/Errors"
import { Option, type Schema, SchemaAST } from "effect"

type Tag = Errors.PublicError["_tag"]

type Classes = Readonly<
  Record<Tag, (new (facts: object) => Errors.PublicError) & { readonly fields: Schema.Struct.Fields }>
>

/** A test fails for a fact without an example: the error refuses to be made. */
export const sampleOf = (tag: Tag): Errors.PublicError => {
  const Refusal = (Errors as unknown as Classes)[tag]
  const { _tag, ...facts } = Refusal.fields
  const given = Object.entries(facts).flatMap(([name, { ast }]) =>
    Option.toArray(SchemaAST.getExamplesAnnotation(ast as SchemaAST.AST)).map(([example]) => [name, example])
  )
  return new Refusal(Object.fromEntries(given))
}
