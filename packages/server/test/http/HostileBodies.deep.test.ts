import { hostileBodies } from "./HostileBodies.ts"

hostileBodies(1)
