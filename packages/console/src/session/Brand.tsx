/** The operator's logo and name, or Posthorn's. */
import type { Welcome } from "./session.tsx"

export const Brand = ({ brand }: { brand: Welcome["brand"] }) => (
  <span className="flex min-w-0 items-center gap-2.5">
    <img
      src={brand.hasLogo ? "/console/logo" : "/console/favicon.svg"}
      alt=""
      className={`h-7 w-auto max-w-28 shrink-0 object-contain ${brand.hasLogo ? "" : "rounded-lg"}`}
    />
    <span className="truncate text-base font-semibold tracking-tight">{brand.name}</span>
  </span>
)
