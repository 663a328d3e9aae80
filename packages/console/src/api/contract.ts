/** The operations' shapes, from the contract. Only types, so that none of its code is shipped. */
import type { HttpApi, HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import type { Api } from "@posthorn/api-contract/Api"
import type { operations } from "./operations.ts"

type Endpoints =
  typeof Api extends HttpApi.HttpApi<infer _Id, infer Groups, infer _E, infer _R>
    ? HttpApiGroup.HttpApiGroup.Endpoints<Groups>
    : never

type Shape<E> =
  E extends HttpApiEndpoint.HttpApiEndpoint<
    infer _Name,
    infer _Method,
    infer Path,
    infer Query,
    infer Body,
    infer _Headers,
    infer Success,
    infer _Failure,
    infer _R,
    infer _RE
  >
    ? { readonly path: Path; readonly query: Query; readonly body: Body; readonly answer: Success }
    : never

type Shapes = { readonly [E in Endpoints as HttpApiEndpoint.HttpApiEndpoint.Name<E>]: Shape<E> }

export type OperationName = keyof typeof operations & keyof Shapes

/** An operation's answer. */
export type Answer<N extends OperationName> = Shapes[N]["answer"]

/** One item of a list's answer. */
export type ItemOf<N extends OperationName> =
  Answer<N> extends { readonly items: ReadonlyArray<infer Item> } ? Item : never

type Given<Name extends string, Value> = [Value] extends [never]
  ? { readonly [K in Name]?: undefined }
  : { readonly [K in Name]?: Value }

/** An operation's parameters, without the slug, which the client knows. */
export type Request<N extends OperationName> = Given<
  "path",
  Shapes[N]["path"] extends infer P ? Omit<P, "slug"> : never
> &
  Given<"query", Partial<Shapes[N]["query"]>> &
  Given<"body", Shapes[N]["body"]>
