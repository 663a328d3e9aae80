import { hostileBodies } from "./HostileBodies.ts"

hostileBodies(11)
