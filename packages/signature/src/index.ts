/**
 * Sign and verify a webhook delivery, on Node and without dependencies: sender and receivers share these lines, so
 * they cannot drift apart. The format is Standard Webhooks v1, so any library of that standard verifies as well.
 * Source: spec §4.1.
 */
export {
  decodeSecret,
  decodeStandardSecret,
  encodeSecret,
  generateSecret,
  InvalidSecret,
  SECRET_PREFIX
} from "./Secret.ts"
export { sign, signWithKeys, type ToSign } from "./Sign.ts"
export {
  type HeadersLike,
  TOLERANCE_SECONDS,
  type ToVerify,
  VerificationError,
  type VerificationFailure,
  type Verified,
  verify
} from "./Verify.ts"
