/**
 * What a PATCH really changes: the members that were sent and differ from the stored ones. If none differs, nothing is written,
 * and there is no audit event and no event. Source: spec §4.3.
 */
import { isDeepStrictEqual } from "node:util"

export type Sent<A> = { readonly [K in keyof A]?: A[K] | undefined }

export const pick = <A>(sent: Sent<A>, names: ReadonlyArray<keyof A>): Sent<A> =>
  Object.fromEntries(names.map((name) => [name, sent[name]])) as Sent<A>

export const changedFields = <A>(present: A, sent: Sent<A>): ReadonlyArray<string & keyof A> =>
  (Object.keys(sent) as Array<string & keyof A>).filter(
    (name) => sent[name] !== undefined && !isDeepStrictEqual(present[name], sent[name])
  )
