/**
 * Notices that npm is gone. A SIGTERM to `npm start` reaches npm and the shell it put between, which dies without passing
 * it on: we would stay behind, unseen. Without npm nothing is watched: then a parent may end and leave us running.
 */
export const onOrphaned = (act) => {
  if (process.env.npm_lifecycle_event === undefined) return
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    act()
  }, 250)
  timer.unref()
}
