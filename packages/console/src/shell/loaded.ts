/**
 * A page's code, waited for while the server is away: the router would load the whole page anew, and the browser would
 * show its own error in its place. What is missing although the server answers is of a version that is gone: that is left
 * to the router.
 */
import { setTrouble } from "../api/queries.ts"
import { fetchWelcome } from "../session/session.tsx"

const AGAIN_MS = 2_000

const answers = () =>
  fetchWelcome().then(
    () => true,
    () => false
  )

export const loaded = async <Module>(load: () => Promise<Module>): Promise<Module> => {
  for (let waited = false; ; waited = true)
    try {
      return await load()
    } catch (error) {
      if ((await answers()) && waited) throw error
      setTrouble("away")
      await new Promise((again) => setTimeout(again, AGAIN_MS))
    }
}
