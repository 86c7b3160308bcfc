/** Whether fetch failed without a response: it throws a TypeError, which Connect wraps. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof Error && error.cause instanceof TypeError);
}
