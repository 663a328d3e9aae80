/**
 * The certificates that test receivers show. Made by packages/testkit/certs/generate.sh, valid until 2120 (except the expired
 * one), with public private keys: trust them in tests only.
 */
import { readFileSync } from "node:fs"

/**
 * `valid` is for localhost, *.zoo.test, 127.0.0.1 and ::1, signed by `authority`; so are `rsa`, which has another key, and
 * `large`, which has 400 names more. The others are invalid in the way they are named.
 */
export type Certificate = "valid" | "expired" | "other-name" | "other-ca" | "self-signed" | "rsa" | "large"

const read = (file: string): string => readFileSync(new URL(`../certs/${file}`, import.meta.url), "utf8")

/** In PEM: what a client must trust to accept `valid`. */
export const authority = (): string => read("ca.pem")

export const certificate = (name: Certificate): { readonly key: string; readonly cert: string } => ({
  key: read(`${name}.key`),
  cert: read(`${name}.pem`)
})
