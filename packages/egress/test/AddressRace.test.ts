import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { freePort } from "@posthorn/testkit/FreePort"
import { Effect } from "effect"
import { AddressRace } from "../src/AddressRace.ts"

/** The addresses of a name, in the range of loopback, where nobody else listens. */
const FIRST = "127.77.0.1"
const SECOND = "127.77.0.2"

/**
 * Listens at `FIRST` and takes no connection until it goes on: the queue of connections that wait is full, so the kernel
 * drops the next SYN, and the client sends it again after a second.
 */
const SLOW = `
  const server = require("node:net").createServer((socket) => socket.write("slow"))
  server.listen({ host: "${FIRST}", port: Number(process.argv[1]), backlog: 1 }, () => console.log("ready"))`

const listening = (host: string, port = 0) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer((socket) => socket.on("error", () => {}).write(host))
      await once(server.listen(port, host), "listening")
      return server
    }),
    (server) => Effect.sync(() => server.close())
  )

const portOf = (server: { address: () => unknown }) => (server.address() as { readonly port: number }).port

/** A handshake with `FIRST` takes about a second. */
const slowReceiver = (port: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child: ChildProcess = spawn(process.execPath, ["-e", SLOW, String(port)])
      await once(child.stdout!, "data")
      child.kill("SIGSTOP")
      const fillers: Array<Socket> = []
      const fill = () =>
        new Promise<boolean>((resolve) => {
          const socket = connect(port, FIRST, () => resolve(true)).on("error", () => {})
          fillers.push(socket)
          // biome-ignore lint/plugin: a connection that is not made within this time was dropped by the full queue
          setTimeout(() => resolve(false), 100)
        })
      while (await fill());
      const goOn = () => {
        for (const socket of fillers) socket.destroy()
        child.kill("SIGCONT")
      }
      return { child, goOn }
    }),
    ({ child, goOn }) =>
      Effect.sync(() => {
        goOn()
        child.kill("SIGKILL")
      })
  )

/** The address that won, or the code of the error. `begun` runs when the first address is being tried. */
const race = (made: AddressRace, addresses: ReadonlyArray<string>, port: number, begun = () => {}) =>
  Effect.async<string>((resume) => {
    made.connect(
      {
        host: "receiver.example",
        port,
        lookup: (_, __, callback) => {
          callback(
            null,
            addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
          )
          // Node sends the SYN in the next tick.
          setImmediate(begun)
        }
      },
      {
        connected: (socket) => {
          const { remoteAddress = "" } = socket
          socket.destroy()
          resume(Effect.succeed(remoteAddress))
        },
        failed: (error) => resume(Effect.succeed((error as NodeJS.ErrnoException).code ?? error.name))
      }
    )
  })

const make = () => new AddressRace(() => performance.now())

describe("the race of a name's addresses", () => {
  it.scopedLive(
    "§3.4 keeps trying an address whose handshake takes longer than the pause before the next",
    () =>
      Effect.gen(function* () {
        const port = yield* freePort
        const { goOn } = yield* slowReceiver(port)
        // Nobody listens at the second address, so that it fails at once. The first SYN was dropped; the next one comes after 1 s.
        const began = performance.now()
        expect(yield* race(make(), [FIRST, SECOND], port, goOn)).toBe(FIRST)
        expect(performance.now() - began).toBeGreaterThan(500)
      })
  )

  it.scopedLive(
    "§3.4 reaches the next address beside one that does not answer, and prefers it from then on",
    () =>
      Effect.gen(function* () {
        const server = yield* listening(SECOND)
        const port = portOf(server)
        yield* slowReceiver(port)
        const made = make()
        const began = performance.now()
        expect(yield* race(made, [FIRST, SECOND], port)).toBe(SECOND)
        const first = performance.now() - began
        expect(yield* race(made, [FIRST, SECOND], port)).toBe(SECOND)
        const second = performance.now() - began - first
        expect(first).toBeGreaterThan(240)
        expect(second).toBeLessThan(240)
      })
  )

  it.scopedLive("§3.4 takes families in turn, tries six addresses at most, and tells the first error", () =>
    Effect.gen(function* () {
      const server = yield* listening(SECOND)
      const port = portOf(server)
      const refused = Array.from({ length: 5 }, (_, n) => `127.77.1.${n}`)
      expect(yield* race(make(), [...refused, SECOND], port)).toBe(SECOND)
      expect(yield* race(make(), [...refused, "127.77.1.9", SECOND], port)).toBe("ECONNREFUSED")
      // The seventh of seven, but the first of its family.
      expect(yield* race(make(), ["::1", "::1", "::1", "::1", "::1", "::1", SECOND], port)).toBe(SECOND)
    })
  )
})
