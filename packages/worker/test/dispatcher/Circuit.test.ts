/** A lane's circuit, and what opens it. */
import { assert, describe, it } from "@effect/vitest"
import { Circuit } from "../../src/dispatcher/Circuit.ts"
import { Circuits } from "../../src/dispatcher/Circuits.ts"
import { Lane, Waiting } from "../../src/dispatcher/Lane.ts"
import { LeaseTerm } from "../../src/dispatcher/Leases.ts"
import { Workspace } from "../../src/dispatcher/Workspace.ts"
import { rows } from "./Rows.ts"

const send = { atOnce: false }
const test = { atOnce: true }

const laneOf = () => {
  const [due] = rows("a", 1)
  const lane = new Lane(due!, new Workspace<Lane>("wsp_1"), 2)
  return { lane, row: new Waiting(lane, new LeaseTerm(0), due!) }
}

describe("a circuit", () => {
  it("§3.4 opens at the third failure in a row, for one delivery that is picked after that, and for tests", () => {
    const circuit = new Circuit<typeof send>()
    circuit.picked(send)
    circuit.failed(2)
    assert.isTrue(circuit.isClosed && circuit.maySend({ atOnce: false }))

    circuit.failed(3)
    assert.isFalse(circuit.isClosed || circuit.maySend(send))
    circuit.picked(send)
    circuit.picked(test)
    assert.isTrue(circuit.maySend(send) && circuit.maySend(test))
    assert.isFalse(circuit.maySend({ atOnce: false }))
    circuit.failed(4)
    assert.isTrue(circuit.maySend(send))
  })

  it("§3.4 pauses ever longer, and only the last pause ends it", () => {
    const circuit = new Circuit<typeof send>()
    assert.isNull(circuit.open())
    const units = [3, 4, 5, 6, 7].map((failures) => {
      circuit.failed(failures)
      return circuit.open()!.units
    })
    assert.deepStrictEqual(units, [1 / 8, 1 / 4, 1 / 2, 1, 1])

    assert.isFalse(circuit.endPause(4))
    assert.isTrue(circuit.isOpen)
    assert.isTrue(circuit.endPause(5))
    assert.isFalse(circuit.isOpen || circuit.isClosed)
  })

  it("§3.4 closes by a success, and is half-open when its endpoint was changed", () => {
    const circuit = new Circuit<typeof send>()
    circuit.failed(9)
    circuit.open()
    circuit.reset(9)
    assert.isFalse(circuit.isOpen || circuit.isClosed)
    assert.strictEqual(circuit.resets, 1)
    circuit.succeeded()
    assert.isTrue(circuit.isClosed)
  })

  it("§3.4 counts no attempt that was picked before its endpoint was changed, and ends no pause of a forgotten lane", () => {
    const later: Array<() => void> = []
    const reopened: Array<Lane> = []
    let current: Lane | undefined
    const circuits = new Circuits({
      retryDelayMs: 8,
      later: (_, run) => void later.push(run),
      isCurrent: (lane) => lane === current,
      halfOpen: (lane) => void reopened.push(lane)
    })
    const { lane, row } = laneOf()
    circuits.loaded(lane, 2)
    circuits.loaded(lane, 7)
    assert.strictEqual(lane.circuit.failures, 2)
    circuits.failed(row)
    assert.deepStrictEqual([lane.circuit.failures, later.length], [3, 1])
    lane.circuit.reset(3)
    circuits.failed(row)
    assert.strictEqual(lane.circuit.failures, 3)

    circuits.pause(lane)
    later[1]!()
    assert.lengthOf(reopened, 0)
    current = lane
    later[1]!()
    assert.deepStrictEqual(reopened, [lane])
  })
})
