export const check = (what: string, holds: boolean) => {
  if (!holds) throw new Error(`${what}: not what was expected`)
}
