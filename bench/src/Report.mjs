import { writeFileSync } from "node:fs"
import { join } from "node:path"
export const report = (all, folder, say) => {
  writeFileSync(join(folder, "latest.json"), JSON.stringify(all, null, 2))
  say(JSON.stringify(all.results.map(r=>r.contestants), null, 1).slice(0,200))
}
