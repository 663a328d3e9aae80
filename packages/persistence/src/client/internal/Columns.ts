/** Schemas of column values, as `Database` configures the driver. */
import { type Id as IdOf, type Noun, prefixes } from "@posthorn/domain/Ids"
import { Schema } from "effect"

export const Id = <N extends Noun>(noun: N) =>
  Schema.declare((text): text is IdOf<N> => typeof text === "string" && text.startsWith(prefixes[noun]), {
    identifier: `an id that starts with ${prefixes[noun]}`
  })

/** A timestamp. */
export const Time = Schema.String.pipe(Schema.pattern(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/))

/** A whole number, 0 or more. */
export const Count = Schema.NonNegativeInt

export const Bytes = Schema.instanceOf(Buffer)

export const Texts = Schema.Array(Schema.String)

/** Headers, a JSON object. */
export const Headers = Schema.Record({ key: Schema.String, value: Schema.String })

/**
 * The columns that a row takes from a table whose columns are named like the row's members, such as `d.created_at as
 * "createdAt"`. `instead` has expressions for members that are no columns.
 */
export const columnsOf = <Fields extends object>(
  { fields }: { readonly fields: Fields },
  table = "",
  instead: { readonly [K in keyof Fields]?: string } = {}
): string =>
  (Object.keys(fields) as Array<keyof Fields & string>)
    .map((name) => {
      const column = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
      return `${instead[name] ?? `${table}${column}`} as "${name}"`
    })
    .join(", ")

/** The row of a statement that counts. */
export const Counted = Schema.Struct({ n: Count })
