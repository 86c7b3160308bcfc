import { type ReactNode, useState } from "react";
import { Card, ErrorNote, Skeleton } from "../ui/index.ts";

/** The part of a query's state that is rendered. */
interface Query<Data> {
  readonly data: Data | undefined;
  readonly error: unknown;
  readonly refetch: () => unknown;
}

/** Renders a query: a skeleton, an error with Retry, or the data. Stale data stays below an error. */
export function QueryResult<Data>({
  query,
  lines = 3,
  height = 20,
  pad = false,
  box = false,
  children,
}: {
  query: Query<Data>;
  /** Size of the skeleton. */
  lines?: number;
  height?: number;
  /** Adds padding inside a card without padding. */
  pad?: boolean;
  /** Wraps the skeleton in a card, if the content brings its own. */
  box?: boolean;
  children: (data: Data) => ReactNode;
}) {
  const { data, error, refetch } = query;
  const inset = (content: ReactNode) => (pad ? <div className="pad">{content}</div> : content);
  const failed =
    error !== null &&
    error !== undefined &&
    inset(<ErrorNote error={error} onRetry={() => void refetch()} />);
  if (data === undefined) {
    const place = <Skeleton lines={lines} height={height} />;
    return failed || (box ? <Card>{place}</Card> : inset(place));
  }
  return (
    <>
      {failed}
      {children(data)}
    </>
  );
}

/** Whether all queries have returned or failed once. */
export function useLoaded(...queries: readonly { readonly isPending: boolean }[]): boolean {
  const [loaded, setLoaded] = useState(false);
  if (loaded) return true;
  const now = queries.every(({ isPending }) => !isPending);
  if (now) setLoaded(true);
  return now;
}
