/**
 * Signatures as home-made senders write them: an HMAC in a header of its own.
 *
 *   content   what is signed, such as `{timestamp}.{body}`
 *   format    the header's value, such as `t={timestamp},v1={signature}`
 *
 * Both are read from left to right once: braces in a body or an id mean nothing. Source: spec §2.9.
 */
import { createHmac } from "node:crypto"

export interface HmacRecipe {
  readonly algorithm: "sha1" | "sha256" | "sha512"
  readonly encoding: "hex" | "base64"
  readonly content: string
  readonly format: string
}

export interface Signed {
  readonly id: string
  /** Unix seconds. */
  readonly timestamp: number | string
  /** As sent; text is signed as UTF-8. */
  readonly body: string
}

/** The value of the recipe's header. */
export const signWithRecipe = (recipe: HmacRecipe, signed: Signed, key: Uint8Array): string => {
  const signature = createHmac(recipe.algorithm, key)
    .update(filled(recipe.content, signed))
    .digest(recipe.encoding)
  return filled(recipe.format, { ...signed, signature })
}

const filled = (template: string, values: Signed & { readonly signature?: string }): string =>
  template.replace(/\{(id|timestamp|body|signature)\}/g, (_, name: keyof typeof values) =>
    String(values[name])
  )
