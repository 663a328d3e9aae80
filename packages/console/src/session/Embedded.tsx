/**
 * The console in a frame of another page: signs in by the code of the frame's address, and again by each that is handed over. The
 * session lives in `api/client`, and nowhere else.
 *
 * What is shown stays while a session has ended, so nothing that was typed is lost. A session that sees something else begins
 * with nothing of the one before. A link that opens no session leaves the one that is open.
 */
import { useQueryClient } from "@tanstack/react-query"
import { type ReactNode, useEffect, useState } from "react"
import { holdSession } from "../api/client.ts"
import { setTrouble, useTrouble } from "../api/queries.ts"
import { Empty, Loading } from "../ui/States.tsx"
import { embedIn, isFramed, takeLinks, tellHost } from "./embedding.ts"
import { fetchWelcome, type SessionInfo, signIn } from "./session.tsx"
import { welcomeKey } from "./useWelcome.ts"

/** Whether what `before` has loaded and typed may be shown to `next`. */
const seesTheSame = (before: SessionInfo, next: SessionInfo) => {
  const viewOf = ({ actor, endpointIds, pages, workspace }: SessionInfo) =>
    JSON.stringify([workspace.slug, actor.type, actor.id, endpointIds, pages])
  return viewOf(before) === viewOf(next)
}

const isNotWelcome = ({ queryKey }: { readonly queryKey: ReadonlyArray<unknown> }) =>
  queryKey[0] !== welcomeKey[0]

const useSignedIn = (beginAnew: () => Promise<void>) => {
  const client = useQueryClient()
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    if (!isFramed) return
    let shown: SessionInfo | undefined

    const open = async (code: string) => {
      const { secret, slug } = await signIn({ code, embedIn })
      const holdPrevious = holdSession(slug, secret!)
      const welcome = await fetchWelcome().catch((error) => {
        holdPrevious()
        throw error
      })
      const [session] = welcome.sessions
      if (session === undefined) {
        holdPrevious()
        throw new Error("the session has ended already")
      }
      const isAnother = shown !== undefined && !seesTheSame(shown, session)
      shown = session
      client.setQueryData(welcomeKey, welcome)
      if (isAnother) {
        client.removeQueries({ predicate: isNotWelcome })
        await beginAnew()
      }
      setTrouble(null)
      setOpen(true)
      tellHost({ posthorn: "opened" })
      client.invalidateQueries({ predicate: isNotWelcome })
    }

    /** A link that opens nothing ends no session. */
    const keep = async () => {
      const sessions =
        shown === undefined
          ? []
          : await fetchWelcome().then(
              ({ sessions }) => sessions,
              () => null
            )
      if (sessions?.length) return setTrouble(null)
      if (sessions !== null) setTrouble("ended")
      tellHost({ posthorn: "expired" })
    }

    let last = Promise.resolve()
    const hasCode = takeLinks((code) => {
      last = last.then(() => open(code)).catch(keep)
    })
    // The frame was loaded again.
    if (!hasCode) setTrouble("ended")
  }, [client, beginAnew])
  return isOpen
}

/** Tells the page around this one what it should know, as it changes. */
const useTold = () => {
  const trouble = useTrouble()
  useEffect(() => {
    if (trouble === "ended") tellHost({ posthorn: "expired" })
  }, [trouble])
  useEffect(() => {
    const root = document.getElementById("root")!
    const observer = new ResizeObserver(() => tellHost({ posthorn: "height", height: root.offsetHeight }))
    observer.observe(root)
    return () => observer.disconnect()
  }, [])
  return trouble
}

interface Props {
  /** Goes to the session's first page. */
  readonly beginAnew: () => Promise<void>
  readonly children: ReactNode
}

const Embedded = ({ beginAnew, children }: Props) => {
  const trouble = useTold()
  const isOpen = useSignedIn(beginAnew)
  if (isOpen) return children
  return (
    <main>
      {!isFramed ? (
        <Empty icon="info" title="This page belongs in another one">
          <p className="text-soft">Open the page of your platform that shows it.</p>
        </Empty>
      ) : trouble === "ended" ? (
        <Empty icon="clock" title="This page has expired">
          <p className="text-soft">Reload the page around it, if it does not go on by itself.</p>
        </Empty>
      ) : (
        <Loading />
      )}
    </main>
  )
}

export default Embedded
