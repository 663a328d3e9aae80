/**
 * Sign and verify a webhook delivery, on Node and without dependencies: sender and receivers share these lines, so
 * they cannot drift apart. The format is Standard Webhooks v1 and v1a, so any library of that standard verifies as well.
 * Source: spec §4.1.
 */
export { type HmacRecipe, type Signed, signWithRecipe } from "./HmacRecipe.ts"
export {
  decodePrivateKey,
  decodePublicKey,
  generateKeyPair,
  type KeyPair,
  PRIVATE_KEY_PREFIX,
  PUBLIC_KEY_PREFIX
} from "./KeyPair.ts"
export {
  decodeSecret,
  decodeStandardSecret,
  encodeSecret,
  generateSecret,
  InvalidSecret,
  SECRET_PREFIX
} from "./Secret.ts"
export { type SigningKey, sign, signWithKeys, type ToSign } from "./Sign.ts"
export {
  type HeadersLike,
  TOLERANCE_SECONDS,
  type ToVerify,
  VerificationError,
  type VerificationFailure,
  type Verified,
  verify
} from "./Verify.ts"
