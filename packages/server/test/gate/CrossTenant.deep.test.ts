import { crossTenant } from "./CrossTenant.ts"

crossTenant(1)
