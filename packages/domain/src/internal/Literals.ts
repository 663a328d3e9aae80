/** Literals that tell the members of a union apart. */
import { Schema } from "effect"

/** Without a description of its own, which an error would show in place of the literal. */
export const kind = <Name extends string>(name: Name, description: string) =>
  Schema.Literal(name).annotations({
    jsonSchema: { type: "string", enum: [name], description, examples: [name] }
  })
