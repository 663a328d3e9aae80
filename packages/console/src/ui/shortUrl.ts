/** Host and path, which distinguish endpoints. */
export const shortUrl = (url: string) => url.replace(/^https?:\/\//, "").replace(/\/$/, "")
