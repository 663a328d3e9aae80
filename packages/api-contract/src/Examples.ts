/**
 * Values for examples: the same endpoint, delivery, trace and moment in all of them, so that they fit together. None of them
 * ever existed.
 */
import { type Noun, prefixes } from "@posthorn/domain/Ids"
import { requestBody } from "@posthorn/domain/RequestBody"

export const exampleId = (noun: Noun): string => `${prefixes[noun]}64401b2c93f5e0b7d1c4a98e62f03`

export const TIME = "2026-11-21T13:00:00.000Z"

/** The end of a rotated secret, or of a time range, that begins at `TIME`. */
export const A_DAY_LATER = "2026-11-22T13:00:00.000Z"

export const A_YEAR_LATER = "2027-11-21T13:00:00.000Z"

export const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"

export const PUBLIC_KEY = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
export const ROTATED_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwC2FVsBQIhro="

export const API_TOKEN = `phk_64401b2c93f5e0b7d1c4a98e62f03_${"0123456789abcdef".repeat(4)}_00000000`

export const URL_OF_RECEIVER = "https://example.com/webhooks"

export const PAYLOAD = { invoice: 7, amount: "12.99", currency: "EUR" }

/** The exact body that the receiver got, and the headers that sign it with the secret above; a test verifies them. */
export const DELIVERED = requestBody(exampleId("delivery"), "invoice.paid", JSON.stringify(PAYLOAD))

export const SIGNED = {
  "webhook-id": exampleId("delivery"),
  "webhook-timestamp": "1795266000",
  "webhook-signature": "v1,R+TPC6lGDVQcIMbZH+SualdrNQC1upnBO1wT7BGSUlo="
}

export const FILTER = { status: "paid", amount: { $gt: 1000 } }
