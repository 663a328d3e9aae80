/** Which addresses are not connected to: those that rule 4 of spec §2.8 refuses, unless they are allowed by address or by name. */
import { type AllowedTargets, allowsAddress, allowsHost } from "@posthorn/domain/AllowedTargets"
import { isRefusedAddress } from "@posthorn/domain/IpAddress"
import type { Refuses } from "./Names.ts"

export const guard =
  (allowed: AllowedTargets): Refuses =>
  (address, port, hostname) =>
    isRefusedAddress(address) &&
    !allowsAddress(allowed, address, port) &&
    !allowsHost(allowed, hostname, port)
