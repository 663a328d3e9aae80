/** The word that was meant by one that nobody knows: at most two letters off. Loaded only when there is something to guess. */
import { edits } from "@posthorn/domain/Spelling"

const MOST_EDITS = 2

export const guess = (word: string, known: ReadonlyArray<string>): string | undefined =>
  known
    .map((other) => ({ other, apart: edits(word, other) }))
    .filter(({ apart, other }) => apart <= Math.min(MOST_EDITS, other.length / 2))
    .sort((one, other) => one.apart - other.apart)[0]?.other
