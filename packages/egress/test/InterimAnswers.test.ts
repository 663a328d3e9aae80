import { describe, expect, it } from "@effect/vitest"
import { InterimAnswers } from "../src/InterimAnswers.ts"

const FINAL = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nHTTP/1.1 100 in the body\r\n\r\n"

const passed = (...chunks: ReadonlyArray<string>): string => {
  const answers = new InterimAnswers()
  return chunks.map((chunk) => answers.pass(Buffer.from(chunk))?.toString() ?? "").join("")
}

describe("InterimAnswers", () => {
  it("passes a final answer on unchanged, wherever it is split", () => {
    for (let at = 0; at <= FINAL.length; at++) expect(passed(FINAL.slice(0, at), FINAL.slice(at))).toBe(FINAL)
  })

  it("removes interim answers, wherever they are split", () => {
    const bytes = `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 103 Hints\r\nlink: x\r\n\r\nHTTP/1.1 199\r\n\r\n${FINAL}`

    for (let at = 0; at <= bytes.length; at++) expect(passed(bytes.slice(0, at), bytes.slice(at))).toBe(FINAL)
    expect(passed(...bytes)).toBe(FINAL)
  })

  it.each([
    "HTTP/1.1 101 Up\r\n\r\n",
    "HTTP/1.1 1000 No\r\n\r\n",
    "HTTP/2 100 \r\n\r\n",
    "SSH-2.0\r\n",
    "HTTP/1.1 2"
  ])("leaves %j to the parser", (bytes) => {
    expect(passed(bytes)).toBe(bytes)
  })

  it("ends the exchange at an interim answer of more than 8 KiB", () => {
    const tooMuchOf = (...chunks: ReadonlyArray<string>) => {
      const answers = new InterimAnswers()
      for (const chunk of chunks) expect(answers.pass(Buffer.from(chunk))).toBe(null)
      return answers.tooMuch
    }
    const head = `HTTP/1.1 103 Hints\r\nx: ${"y".repeat(9_000)}`
    expect(tooMuchOf(head.slice(0, 8_192))).toBe(false)
    expect(tooMuchOf(head.slice(0, 5_000), head.slice(5_000))).toBe(true)
  })

  it("removes interim answers before each answer of a connection", () => {
    const answers = new InterimAnswers()
    const interim = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n")

    for (let answer = 0; answer < 2; answer++) {
      answers.begin()
      expect(answers.pass(Buffer.concat([interim, Buffer.from(FINAL)]))?.toString()).toBe(FINAL)
    }
  })

  it("counts every byte of one answer, and reports when there are too many", () => {
    const answers = new InterimAnswers()
    const half = Buffer.alloc(512 * 1024, "x")

    answers.pass(half)
    answers.pass(half)
    expect(answers.tooMuch).toBe(false)
    answers.pass(Buffer.from("x"))
    expect(answers.tooMuch).toBe(true)
    answers.begin()

    expect(answers).toMatchObject({ received: 0, tooMuch: false })
  })
})
