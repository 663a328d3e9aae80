/** Who is signed in, to which workspace, and what they may do. Forbidden actions are not shown: every page asks `may`. */
import type { PolicyDefaults } from "@posthorn/domain/DeliveryPolicy"
import { createContext, useContext } from "react"
import { send } from "../api/client.ts"
import type { OperationName } from "../api/contract.ts"
import { operations } from "../api/operations.ts"
import type { Theme } from "./theme.ts"

/** What a link says of the session's pages. */
export interface View {
  readonly pages: ReadonlyArray<string> | null
  readonly endpointIds: ReadonlyArray<string> | null
  readonly theme: {
    readonly accent?: string
    readonly colorScheme?: Theme
    readonly radius?: number
  } | null
  /** Where it begins: a path below the workspace. */
  readonly to: string | null
}

export interface SessionInfo extends View {
  readonly workspace: { readonly slug: string; readonly name: string }
  readonly actor: {
    readonly type: "member" | "api_token" | "operator"
    readonly id: string
    readonly name: string | null
  }
  readonly permissions: ReadonlyArray<string>
  readonly expiresAt: string
}

export interface Welcome {
  readonly brand: { readonly name: string; readonly accent: string | null; readonly hasLogo: boolean }
  readonly version: string
  /** What policies rest on that leave something out. */
  readonly policyDefaults: PolicyDefaults
  readonly sessions: ReadonlyArray<SessionInfo>
}

export const fetchWelcome = async (signal?: AbortSignal): Promise<Welcome> => {
  const response = await send("/console/session", signal === undefined ? {} : { signal })
  return (await response.json()) as Welcome
}

type Credential =
  | { readonly code: string; readonly embedIn?: ReadonlyArray<string> }
  | { readonly token: string }

/** `secret`: of a session without a cookie, by a link with `embedIn`. */
export const signIn = async (credential: Credential): Promise<{ slug: string; secret?: string }> => {
  const response = await send("/console/session", {
    method: "POST",
    headers: { "content-type": "application/json", "x-console": "1" },
    body: JSON.stringify(credential)
  })
  const { secret, workspace } = (await response.json()) as { workspace: { slug: string }; secret?: string }
  return { slug: workspace.slug, ...(secret !== undefined && { secret }) }
}

/** Whom a link's code signs in, and where. This does not use the link up. */
export const lookAtLink = async (code: string): Promise<Pick<SessionInfo, "actor" | "workspace">> => {
  const response = await send("/console/link", {
    method: "POST",
    headers: { "content-type": "application/json", "x-console": "1" },
    body: JSON.stringify({ code })
  })
  return await response.json()
}

export const signOut = (slug: string) =>
  send("/console/session", { method: "DELETE", headers: { "x-console": slug } })

const Context = createContext<{ readonly session: SessionInfo; readonly welcome: Welcome } | null>(null)
export const SessionProvider = Context.Provider

export const useSession = () => {
  const held = useContext(Context)
  if (held === null) throw new Error("not signed in")
  const { session, welcome } = held
  /** Whether the session has this page of the navigation. */
  const hasPage = (page: string) => session.pages === null || session.pages.includes(page)
  return {
    slug: session.workspace.slug,
    session,
    welcome,
    hasPage,
    /** Whether all of these operations may be called. */
    may: (...names: ReadonlyArray<OperationName>) =>
      names.every((name) => {
        const [, , permission, pages]: ReadonlyArray<string> = operations[name]
        return (
          (permission === "any" || session.permissions.includes(permission!)) &&
          (session.pages === null || pages!.split(" ").some(hasPage))
        )
      })
  }
}
