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

/**
 * The nearest of the known words, of those within as many edits as are allowed for it. Words whose lengths alone are too far apart
 * are not compared: with all of Posthorn's variables, a start took 20 ms longer.
 */
export const nearest = (word: string, known: ReadonlyArray<string>, mostEdits: (other: string) => number) =>
  known
    .filter((other) => Math.abs(other.length - word.length) <= mostEdits(other))
    .map((other) => ({ other, apart: edits(word, other) }))
    .filter(({ apart, other }) => apart <= mostEdits(other))
    .sort((a, b) => a.apart - b.apart)[0]
