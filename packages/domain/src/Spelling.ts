/** Edit distance of words, to guess what somebody meant to write. */

/** How many letters must be added, removed or changed to turn one into the other. */
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
 * The nearest of the known words within the number of edits allowed for each. Words whose lengths differ by more are not
 * compared: with all of Posthorn's variables that took a start 20 ms longer.
 */
export const nearest = (word: string, known: ReadonlyArray<string>, mostEdits: (other: string) => number) =>
  known
    .filter((other) => Math.abs(other.length - word.length) <= mostEdits(other))
    .map((other) => ({ other, apart: edits(word, other) }))
    .filter(({ apart, other }) => apart <= mostEdits(other))
    .sort((a, b) => a.apart - b.apart)[0]
