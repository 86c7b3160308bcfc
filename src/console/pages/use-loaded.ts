import { useState } from "react";

/** Whether all queries have returned or failed once. */
export function useLoaded(...queries: readonly { readonly isPending: boolean }[]): boolean {
  const [loaded, setLoaded] = useState(false);
  if (loaded) return true;
  const now = queries.every(({ isPending }) => !isPending);
  if (now) setLoaded(true);
  return now;
}
