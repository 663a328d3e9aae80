/** Writes `.env.example`. */
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { envExample } from "../src/settings/EnvExample.ts"

writeFileSync(fileURLToPath(new URL("../../../.env.example", import.meta.url)), envExample())
