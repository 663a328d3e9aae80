/** A process of the run that is asked one thing after another. Typed arrays go over as they are. */
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"

export const startChild = async (file, config) => {
  const child = fork(fileURLToPath(new URL(`./${file}.mjs`, import.meta.url)), {
    stdio: "inherit",
    serialization: "advanced"
  })
  let waiting = Promise.resolve()
  const once = (message) =>
    new Promise((resolve, reject) => {
      const gone = () => reject(new Error(`${file} ended`))
      child.once("exit", gone)
      child.once("message", ({ answer, error }) => {
        child.off("exit", gone)
        if (error) reject(new Error(error))
        else resolve(answer)
      })
      child.send(message)
    })
  const ask = (what, given) => {
    const answer = waiting.then(() => once({ ask: what, given }))
    waiting = answer.catch(() => undefined)
    return answer
  }
  return { pid: child.pid, ask, opened: await ask("open", config), stop: () => child.disconnect() }
}

/** The other side. */
export const answering = (answers) => {
  process.on("message", async ({ ask, given }) => {
    try {
      process.send({ answer: (await answers[ask](given)) ?? null })
    } catch (error) {
      process.send({ error: error.stack })
    }
  })
  process.on("disconnect", () => process.exit(0))
}
