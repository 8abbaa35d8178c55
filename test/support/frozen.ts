/** The value, no part of which can be changed any more: who reads it must not try. */
export function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}
