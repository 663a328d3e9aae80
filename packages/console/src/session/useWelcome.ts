/** This browser's sessions and the operator's branding, fetched once. */
import { useQuery } from "@tanstack/react-query"
import { useEffect } from "react"
import { applyAccent } from "./accent.ts"
import { fetchWelcome } from "./session.tsx"

export const welcomeKey = ["welcome"] as const

export const useWelcome = () => {
  const query = useQuery({
    queryKey: welcomeKey,
    queryFn: ({ signal }) => fetchWelcome(signal),
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false
  })
  const brand = query.data?.brand
  useEffect(() => {
    if (brand === undefined) return
    applyAccent(brand.accent)
    document.documentElement.dataset.brand = brand.name
  }, [brand])
  return query
}
