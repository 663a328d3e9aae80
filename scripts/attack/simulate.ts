/** Plays many worlds of the simulation: `tsx scripts/attack/simulate.ts [first seed] [how many] [mood]`. */
import { MOODS } from "../../packages/worker/test/simulation/FaultPlan.ts"
import { violations } from "../../packages/worker/test/simulation/Laws.ts"
import { World } from "../../packages/worker/test/simulation/World.ts"

const [from = "1", count = "1000", word] = process.argv.slice(2)
const mood = MOODS.find((one) => one === word) ?? "trouble"
const started = Date.now()
let broken = 0
let posts = 0
for (let seed = Number(from); seed < Number(from) + Number(count); seed++) {
  const world = new World(seed, { mood })
  world.play()
  posts += world.posts.length
  const found = violations(world)
  if (found.length === 0) continue
  broken += 1
  console.log(`seed ${seed}:\n  ${found.slice(0, 5).join("\n  ")}`)
}
console.log(`${count} worlds, ${posts} posts, ${broken} with a broken law, ${Date.now() - started} ms`)
process.exit(broken === 0 ? 0 : 1)
