/** The word that was meant by one that nobody knows: at most two letters off. Loaded only when there is something to guess. */
import { nearest } from "@posthorn/domain/Spelling"

const MOST_EDITS = 2

export const guess = (word: string, known: ReadonlyArray<string>): string | undefined =>
  nearest(word, known, (other) => Math.min(MOST_EDITS, other.length / 2))?.other
