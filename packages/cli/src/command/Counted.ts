/** For example "1 endpoint" and "7 endpoints". */
export const counted = (count: number, one: string): string => `${count} ${count === 1 ? one : `${one}s`}`
