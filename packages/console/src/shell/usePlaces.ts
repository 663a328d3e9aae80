/** The places in the navigation that this session has. */
import { useSession } from "../session/session.tsx"
import { places } from "./places.ts"

/** The page's name in a link's `pages`. */
export const pageOf = ({ to }: (typeof places)[number]) => to.slice("/w/$slug/".length)

export const usePlaces = () => {
  const { hasPage, may } = useSession()
  return places.filter((place) => may(place.needs) && hasPage(pageOf(place)))
}
