/**
 * Builds the console: files of the policy `script-src 'self'; style-src 'self'`, so nothing inline, no polyfill that
 * writes itself into the page, no `data:` addresses. What is built is compressed beside itself, once, at the highest
 * level, so that the server compresses nothing.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"
import tailwind from "@tailwindcss/vite"
import react from "@vitejs/plugin-react"
import { defineConfig, type Plugin } from "vite"

const compressed: Plugin = {
  name: "compressed",
  apply: "build",
  writeBundle(options, bundle) {
    for (const name of Object.keys(bundle)) {
      if (!/\.(js|css|html|svg)$/.test(name)) continue
      const path = join(options.dir!, name)
      const bytes = readFileSync(path)
      const quality = { [constants.BROTLI_PARAM_QUALITY]: 10 }
      writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: quality }))
      writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
    }
  }
}

export default defineConfig({
  root: import.meta.dirname,
  base: "/console/",
  plugins: [react(), tailwind(), compressed],
  logLevel: "warn",
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    emptyOutDir: true,
    reportCompressedSize: false
  }
})
