/**
 * Going on at once with what is there already, and without a fiber with what calls back.
 *
 * `Effect.flatMap` gives each step to Effect's runtime, also when the step before it is a plain value, and a wait puts a
 * fiber to sleep and wakes it up. For what is asked thousands of times a second that was a quarter of the time. So here a
 * plain value goes to the next step while steps are put together: what is put together with this is called where it is to
 * run, and never kept to be run again. Whatever has to be waited for, or reads what the caller provides, becomes a step:
 * an effect like any other, which a fiber runs as such. Who has no fiber goes through the steps by `Going`, and needs one
 * only for what is no step.
 *
 * It guarantees the outcome that the fiber would give, defects and giving up included. It knows no spans, no fiber refs and
 * no interruption inside of a step: for those a fiber has to run it. Source: ADR 0004.
 */
import { Cause, type Context, Effect, Effectable, Either, Exit } from "effect"

type Done<A, E> = (exit: Exit.Exit<A, E>) => void

/** What ends a wait: nothing comes of it any more. */
type Cancel = () => void

abstract class Step<A, E = never, R = never> extends Effectable.Class<A, E, R> {}

class Later<A, E> extends Step<A, E> {
  readonly begin: (done: Done<A, E>) => Cancel

  constructor(begin: (done: Done<A, E>) => Cancel) {
    super()
    this.begin = begin
  }

  commit(): Effect.Effect<A, E> {
    return Effect.async((resume) => Effect.sync(this.begin(resume)))
  }
}

class Asking<A, E, R> extends Step<A, E, R> {
  readonly next: (context: Context.Context<R>) => Effect.Effect<A, E, R>

  constructor(next: (context: Context.Context<R>) => Effect.Effect<A, E, R>) {
    super()
    this.next = next
  }

  commit(): Effect.Effect<A, E, R> {
    return Effect.contextWithEffect(this.next)
  }
}

class Following<A, E, R, B, E2, R2> extends Step<B, E2, R | R2> {
  readonly self: Step<A, E, R>
  readonly onSuccess: (value: A) => Effect.Effect<B, E2, R2>
  readonly onFailure: (cause: Cause.Cause<E>) => Effect.Effect<B, E2, R2>

  constructor(
    self: Step<A, E, R>,
    onSuccess: (value: A) => Effect.Effect<B, E2, R2>,
    onFailure: (cause: Cause.Cause<E>) => Effect.Effect<B, E2, R2>
  ) {
    super()
    this.self = self
    this.onSuccess = onSuccess
    this.onFailure = onFailure
  }

  commit(): Effect.Effect<B, E2, R | R2> {
    return Effect.matchCauseEffect(this.self, this)
  }
}

type Anything = Effect.Effect<unknown, unknown, unknown>
type Outcome = Exit.Exit<unknown, unknown>
type Whatever = Following<unknown, unknown, unknown, unknown, unknown, unknown>

/** Goes through the steps of one effect for one caller, one after another, without a fiber. */
export class Going {
  private readonly context: Context.Context<never>
  /** Runs what is no step; gives what ends it. */
  private readonly fork: (effect: Effect.Effect<unknown, unknown>, done: Done<unknown, unknown>) => Cancel
  /** What comes after the step that is being made, the next one last. */
  private readonly following: Array<Whatever> = []
  private done: ((exit: never) => void) | undefined = undefined
  private cancel: Cancel | undefined = undefined
  private isOver = false

  constructor(
    context: Context.Context<never>,
    fork: (effect: Effect.Effect<unknown, unknown>, done: Done<unknown, unknown>) => Cancel
  ) {
    this.context = context
    this.fork = fork
  }

  /** To be called once. `context` is to have what it needs. `done` is called at most once: never once this was stopped. */
  go<A, E, R>(self: Effect.Effect<A, E, R>, done: Done<A, E>): void {
    this.done = done
    this.goOn(self)
  }

  /** Gives up what is waited for. */
  stop(): void {
    this.isOver = true
    this.cancel?.()
  }

  private goOn(self: Anything): void {
    let next: Anything | undefined = self
    while (next !== undefined && !this.isOver) next = this.stepFrom(next)
  }

  /** What comes next; undefined when that has to be waited for, or nothing does. */
  private stepFrom(self: Anything): Anything | undefined {
    if (self instanceof Following) {
      this.following.push(self)
      return self.self
    }
    if (Exit.isExit(self)) return this.after(self as Outcome)
    if (self instanceof Asking) return tried((self as Asking<unknown, unknown, never>).next, this.context)
    if (self instanceof Later) return this.wait(self.begin)
    return this.wait((resume) => this.fork(self as Effect.Effect<unknown, unknown>, resume))
  }

  private after(exit: Outcome): Anything | undefined {
    const following = this.following.pop()
    if (following === undefined) return void this.done!(exit as never)
    return Exit.isSuccess(exit)
      ? tried(following.onSuccess, exit.value)
      : tried(following.onFailure, exit.cause)
  }

  private wait(begin: (done: Done<unknown, unknown>) => Cancel): undefined {
    let isSettled = false
    const cancel = begin((exit) => {
      if (isSettled || this.isOver) return
      isSettled = true
      this.cancel = undefined
      this.goOn(exit)
    })
    if (!isSettled) this.cancel = cancel
  }
}

/** The outcome of calling this, be it a defect. */
const tried = <A>(next: (value: A) => Anything, value: A): Anything => {
  try {
    return next(value)
  } catch (defect) {
    return Exit.die(defect)
  }
}

/** What calls back: `begin` is called when it is run, and gives what to do when nobody waits any more. */
export const later = <A, E = never>(begin: (done: Done<A, E>) => Cancel): Effect.Effect<A, E> =>
  new Later(begin)

/** What depends on what the caller provides. */
export const asking = <A, E, R>(
  next: (context: Context.Context<R>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => new Asking(next)

/** As `Effect.flatMap`. */
export const andThen = <A, E, R, B, E2, R2>(
  self: Effect.Effect<A, E, R>,
  next: (value: A) => Effect.Effect<B, E2, R2>
): Effect.Effect<B, E | E2, R | R2> => {
  if (self instanceof Step) return new Following<A, E, R, B, E | E2, R2>(self, next, Exit.failCause)
  if (!Exit.isExit(self)) return Effect.flatMap(self, next)
  const exit = self as Exit.Exit<A, E>
  return Exit.isSuccess(exit) ? next(exit.value) : Exit.failCause(exit.cause)
}

/** As `Effect.map`. */
export const map = <A, E, R, B>(
  self: Effect.Effect<A, E, R>,
  change: (value: A) => B
): Effect.Effect<B, E, R> => andThen(self, (value) => Exit.succeed(change(value)))

/** As `Effect.catchAllCause`. */
export const recover = <A, E, R, B, E2, R2>(
  self: Effect.Effect<A, E, R>,
  onFailure: (cause: Cause.Cause<E>) => Effect.Effect<B, E2, R2>
): Effect.Effect<A | B, E2, R | R2> => {
  if (self instanceof Step) return new Following<A, E, R, A | B, E2, R2>(self, Exit.succeed, onFailure)
  if (!Exit.isExit(self)) return Effect.catchAllCause(self, onFailure)
  const exit = self as Exit.Exit<A, E>
  return Exit.isSuccess(exit) ? Exit.succeed(exit.value) : onFailure(exit.cause)
}

/** As `Effect.catchAll`. */
export const recoverFrom = <A, E, R, B, E2, R2>(
  self: Effect.Effect<A, E, R>,
  onError: (error: E) => Effect.Effect<B, E2, R2>
): Effect.Effect<A | B, E2, R | R2> =>
  recover(self, (cause): Effect.Effect<B, E2, R2> => {
    const failure = Cause.failureOrCause(cause)
    return Either.isLeft(failure) ? onError(failure.left) : Exit.failCause(failure.right)
  })
