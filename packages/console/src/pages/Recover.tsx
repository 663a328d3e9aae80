export const Recover = () => null
