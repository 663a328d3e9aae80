/** What the runs gave, kept in docs/proof.json; docs/proof.md is written from it and from nothing else that changes. */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** When and on what a part was run. */
export interface Run {
  readonly at: string
  readonly commit: string
  readonly machine: string
}

export interface Tests extends Run {
  /** How many test files there were; a run may leave some out. */
  readonly ofFiles: number
  /** By path from the root. */
  readonly files: Readonly<Record<string, Counts>>
  /** By "spec §3.1" and "decision §4". */
  readonly sections: Readonly<Record<string, Counts>>
}

export interface ChaosLaw {
  readonly cases: number
  readonly of: string
  readonly least: number
  readonly violations: number
}

export interface ChaosRun extends Run {
  readonly seed: number
  readonly seconds: number
  readonly deliveries: number
  readonly posts: number
  readonly faults: Readonly<Record<string, number>>
  readonly laws: Readonly<Record<string, ChaosLaw>>
}

export interface Guards extends Run {
  /** By file. */
  readonly caught: Readonly<Record<string, number>>
  readonly excused: ReadonlyArray<{ readonly guard: string; readonly reason: string }>
}

export interface Goal {
  readonly scenario: string
  readonly against: string
  readonly goal: string
  readonly got: string
  /** Null: the run does not say. */
  readonly met: boolean | null
}

export interface Goals {
  /** When each scenario ran, on what, and how busy that was. */
  readonly runs: Readonly<Record<string, { readonly at: string; readonly on: string; readonly load: number }>>
  readonly rows: ReadonlyArray<Goal>
}

/** A command that ends with 1 unless all is well, and the last line that it said. */
export interface Command extends Run {
  readonly ended: number
  readonly said: string
}

/** A part that was never run is missing. */
export interface Results {
  readonly tests?: Tests
  readonly chaos?: ReadonlyArray<ChaosRun>
  readonly guards?: Guards
  /** Of the rules in TypeScript. */
  readonly mutants?: Guards
  readonly goals?: Goals
  readonly commands?: Readonly<Record<string, Command>>
}

const FILE = fileURLToPath(new URL("../../docs/proof.json", import.meta.url))

export const readResults = (): Results =>
  existsSync(FILE) ? (JSON.parse(readFileSync(FILE, "utf8")) as Results) : {}

export const writeResults = (results: Results): void =>
  writeFileSync(FILE, `${JSON.stringify(results, null, 1)}\n`)
