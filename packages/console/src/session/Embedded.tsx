/**
 * The console in a frame of another page: signs in by the code of the frame's address, and again by each that is handed over. The
 * session lives in `api/client`, and nowhere else.
 *
 * What is shown stays while a session has ended, so nothing that was typed is lost.
 */
import { useQueryClient } from "@tanstack/react-query"
import { type ReactNode, useEffect, useState } from "react"
import { holdSession } from "../api/client.ts"
import { setTrouble, useTrouble } from "../api/queries.ts"
import { Empty, Loading } from "../ui/States.tsx"
import { embedIn, isFramed, takeLinks, tellHost } from "./embedding.ts"
import { fetchWelcome, signIn } from "./session.tsx"
import { welcomeKey } from "./useWelcome.ts"

const useSignedIn = () => {
  const client = useQueryClient()
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    if (!isFramed) return
    const hasCode = takeLinks(async (code) => {
      try {
        const { secret, slug } = await signIn({ code, embedIn })
        holdSession(slug, secret!)
        const welcome = await fetchWelcome()
        if (welcome.sessions.length === 0) throw new Error("the session has ended already")
        client.setQueryData(welcomeKey, welcome)
        setTrouble(null)
        setOpen(true)
        tellHost({ posthorn: "opened" })
        client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== welcomeKey[0] })
      } catch {
        setTrouble("ended")
        tellHost({ posthorn: "expired" })
      }
    })
    // The frame was loaded again.
    if (!hasCode) setTrouble("ended")
  }, [client])
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

const Embedded = ({ children }: { children: ReactNode }) => {
  const trouble = useTold()
  const isOpen = useSignedIn()
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
