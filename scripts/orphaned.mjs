/**
 * Notices that npm is gone. A SIGTERM to `npm start` reaches npm and its shell, which dies without passing the signal on, so
 * this process would stay behind unnoticed. When npm did not start this process, its parent is not watched: the parent may
 * end and leave us running.
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
