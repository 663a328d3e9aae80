/**
 * Loads a page's code, and waits while the server is unreachable: otherwise the router would reload the page, and the browser
 * would show its own error. If the server answers and the code is missing, it belongs to an old version; then the router
 * handles it.
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
