/**
 * The policies of an endpoint and its workspace as stored, with their version. A policy that cannot be decoded counts as not
 * set.
 */
import { DeliveryPolicy } from "@posthorn/domain/DeliveryPolicy"
import { Option, Schema } from "effect"

export interface VersionedPolicy {
  readonly own: DeliveryPolicy | null
  readonly workspace: DeliveryPolicy | null
  readonly version: string
}

const read = Schema.decodeOption(Schema.parseJson(DeliveryPolicy))

const policyIn = (text: string | null): DeliveryPolicy | null =>
  text === null ? null : Option.getOrNull(read(text))

export const policyOf = (own: string | null, workspace: string | null, version: string): VersionedPolicy => ({
  own: policyIn(own),
  workspace: policyIn(workspace),
  version
})
