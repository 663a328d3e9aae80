/** Edit distance of words, to guess what somebody meant to write. */

/**
 * How many letters must be added, removed or changed to turn one into the other; more than `most` is told as `most + 1`, and takes
 * no longer than the band of the distances that are looked for.
 */
export const edits = (a: string, b: string, most = Math.max(a.length, b.length)): number => {
  const beyond = most + 1
  let above = new Uint16Array(b.length + 2).fill(beyond)
  let here = new Uint16Array(b.length + 2).fill(beyond)
  for (let column = 0; column <= Math.min(b.length, most); column++) above[column] = column
  for (let row = 1; row <= a.length; row++) {
    const from = Math.max(1, row - most)
    const to = Math.min(b.length, row + most)
    here[from - 1] = from === 1 ? Math.min(row, beyond) : beyond
    here[to + 1] = beyond
    let least = here[from - 1]!
    for (let column = from; column <= to; column++) {
      const changed = above[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1)
      const apart = Math.min(changed, above[column]! + 1, here[column - 1]! + 1, beyond)
      here[column] = apart
      if (apart < least) least = apart
    }
    if (least === beyond) return beyond
    ;[above, here] = [here, above]
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
    .map((other) => ({ other, apart: edits(word, other, mostEdits(other)) }))
    .filter(({ apart, other }) => apart <= mostEdits(other))
    .sort((a, b) => a.apart - b.apart)[0]
