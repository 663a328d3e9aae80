/** How far two words are apart, for a guess at what somebody meant to write. */

/** How many letters must be added, removed or changed to make one of the other. */
export const edits = (a: string, b: string): number => {
  let above = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const here = [row]
    for (let column = 1; column <= b.length; column++) {
      const changed = above[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1)
      here.push(Math.min(changed, above[column]! + 1, here[column - 1]! + 1))
    }
    above = here
  }
  return above[b.length]!
}
