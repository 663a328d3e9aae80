/** This browser's sessions and the operator's branding, fetched once. */
import { useQuery } from "@tanstack/react-query"
import { useEffect } from "react"
import { setAccent } from "./look.ts"
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
    setAccent(brand.accent)
    document.documentElement.dataset.brand = brand.name
  }, [brand])
  return query
}
