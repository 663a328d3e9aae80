/** The fetch under the functions that orval generates: where the service is, and as whom. */
const target = { baseUrl: "", token: "" }

export const use = (baseUrl: string, token: string) => Object.assign(target, { baseUrl, token })

export const orvalFetch = async <T>(url: string, options: RequestInit): Promise<T> => {
  const headers = new Headers(options.headers)
  headers.set("authorization", `Bearer ${target.token}`)
  const response = await fetch(`${target.baseUrl}${url}`, { ...options, headers })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    data: text === "" ? undefined : JSON.parse(text)
  } as T
}
