/** Links to pages of the console. A session that does not have the page sees a link's text, and nothing of an action's. */
import { createLink } from "@tanstack/react-router"
import type { ComponentProps } from "react"
import { buttonClass, type Look } from "../ui/Button.tsx"
import { isEmbedded } from "./embedding.ts"
import { useSession } from "./session.tsx"

const useHas = (href = "") => {
  const { hasPage } = useSession()
  const [, page] = /^\/console\/w\/[^/]+\/([a-z-]+)/.exec(href) ?? []
  return page === undefined || hasPage(page)
}

/** A frame opens no windows. */
const opens = ({ target }: ComponentProps<"a">) => !(isEmbedded && target === "_blank")

export const Link = createLink((props: ComponentProps<"a">) =>
  useHas(props.href) && opens(props) ? <a {...props} /> : props.children
)

/** Says what is done there. */
export const ActionLink = createLink((props: ComponentProps<"a">) =>
  useHas(props.href) ? <a {...props} /> : null
)

export const ButtonLink = createLink(
  ({ look, small, ...props }: ComponentProps<"a"> & { look?: Look; small?: boolean }) =>
    useHas(props.href) ? <a {...props} className={buttonClass(look, small)} /> : null
)
