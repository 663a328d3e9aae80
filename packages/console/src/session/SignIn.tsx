/**
 * Signing in: by a link, whose code is removed from the address before anything else, or with an API token, which is sent once
 * and not stored. A link signs in only after a click: any page can open one, and could otherwise sign this browser in as
 * somebody else.
 */
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { useRouter, useSearch } from "@tanstack/react-router"
import { useEffect, useState } from "react"
import { setTrouble } from "../api/queries.ts"
import { Button } from "../ui/Button.tsx"
import { Code } from "../ui/Code.tsx"
import { TextField } from "../ui/Field.tsx"
import { Refusal } from "../ui/States.tsx"
import { Brand } from "./Brand.tsx"
import { takeCode } from "./embedding.ts"
import { lookAtLink, type SessionInfo, signIn } from "./session.tsx"
import { useWelcome, welcomeKey } from "./useWelcome.ts"

/** The page requested before the sign-in, only if it is a page of this workspace. */
const pageWithin = (slug: string, asked: string | undefined) =>
  asked?.startsWith(`/w/${slug}/`) === true && !asked.includes("//") ? asked : undefined

/** The slug for the command that makes a link. It is checked, because the address may contain anything. */
const workspaceOf = (asked: string | undefined) =>
  /^\/w\/([a-z0-9-]+)\//.exec(asked ?? "")?.[1] ?? "WORKSPACE"

/** Pasted text may have spaces around it, or the header's `Bearer` before it. */
const tokenOf = (text: string) => text.trim().replace(/^bearer\s+/i, "")

const useSignIn = (asked: string | undefined) => {
  const client = useQueryClient()
  const router = useRouter()
  const [state, setState] = useState<{ busy: boolean; error: unknown }>({ busy: false, error: null })
  const open = async (credential: Parameters<typeof signIn>[0]) => {
    setState({ busy: true, error: null })
    try {
      const { slug } = await signIn(credential)
      setTrouble(null)
      client.removeQueries({ queryKey: [slug] })
      await client.resetQueries({ queryKey: welcomeKey })
      router.history.replace(`/console${pageWithin(slug, asked) ?? `/w/${slug}/`}`)
    } catch (error) {
      setState({ busy: false, error })
    }
  }
  return { ...state, open }
}

const sentence = (error: unknown, byLink: boolean) =>
  error instanceof Error && "status" in error && error.status === 401
    ? new Error(
        byLink
          ? "This link has been used, or is too old. Ask for a new one, or sign in with an API token."
          : "This is not a token that is valid here. It begins with phk_; check that all of it was pasted and that it was not revoked."
      )
    : error

const nameOf = ({ actor: { id, name, type } }: Pick<SessionInfo, "actor">) =>
  type === "operator" ? "the operator" : (name ?? id)

const ByLink = ({
  busy,
  found,
  open
}: {
  busy: boolean
  found: Pick<SessionInfo, "actor" | "workspace">
  open: () => void
}) => (
  <section aria-label="Console link" className="grid gap-3 rounded-md border p-4">
    <p>
      Sign in to <bdi className="font-medium">{found.workspace.name}</bdi> as{" "}
      <bdi className="font-medium">{nameOf(found)}</bdi>?
    </p>
    <Button look="primary" isDisabled={busy} onPress={open} className="h-9">
      Sign in with this link
    </Button>
  </section>
)

export const SignIn = () => {
  const { data } = useWelcome()
  const { to } = useSearch({ from: "/sign-in" })
  const [link, setLink] = useState(takeCode)
  const [token, setToken] = useState("")
  const { busy, error, open } = useSignIn(to)
  const found = useQuery({
    queryKey: ["link", link],
    queryFn: () => lookAtLink(link!),
    enabled: link !== null,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY
  })

  useEffect(() => {
    document.title = "Sign in"
  }, [])
  // Opening a link while this page is open changes only the fragment.
  useEffect(() => {
    const take = () => {
      const code = takeCode()
      if (code !== null) setLink(code)
    }
    window.addEventListener("hashchange", take)
    return () => window.removeEventListener("hashchange", take)
  }, [])

  const refusal = error ?? found.error

  return (
    <main className="mx-auto grid min-h-dvh max-w-sm content-center gap-6 px-5 py-10">
      {data === undefined ? null : <Brand brand={data.brand} />}
      <div className="grid gap-1.5">
        <h1 className="text-2xl font-semibold tracking-tight">Sign in</h1>
        <p className="text-soft">
          {link !== null && found.isLoading
            ? "Opening the link …"
            : "Paste an API token, or open a console link."}
        </p>
      </div>
      {window.isSecureContext ? null : (
        <Refusal error="This page was opened over plain http, where no browser keeps a session. Open it over https, or as http://localhost." />
      )}
      {link === null || found.data === undefined ? null : (
        <ByLink found={found.data} busy={busy} open={() => open({ code: link })} />
      )}
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          if (tokenOf(token) !== "") open({ token: tokenOf(token) })
        }}
      >
        <TextField
          label="API token"
          value={token}
          onChange={setToken}
          placeholder="phk_…"
          type="password"
          mono
          autoFocus={link === null}
          about="Sent once, and not kept in this browser. You can do here what the token may do."
        />
        <Refusal error={refusal === null ? null : sentence(refusal, token === "")} />
        <Button type="submit" look="primary" isDisabled={busy || token.trim() === ""} className="h-9">
          Sign in
        </Button>
      </form>
      <div className="grid gap-2 border-t pt-5 text-sm text-soft">
        <p>Whoever runs this server can make a link that opens the console once:</p>
        <Code text={`posthorn console-link ${workspaceOf(to)}`} label="Command" />
      </div>
    </main>
  )
}
