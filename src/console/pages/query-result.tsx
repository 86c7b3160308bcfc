import type { ReactNode } from "react";
import { Card, ErrorNote, Skeleton } from "../ui/index.ts";

/** What a page asks the gateway for, as far as its states matter. */
interface Query<Data> {
  readonly data: Data | undefined;
  readonly error: unknown;
  readonly refetch: () => unknown;
}

/**
 * Shows what was asked for, once it is there; its place until then, and what went wrong with a button to try again. What is there stays when
 * it cannot be asked for anew, below a word that it may be old.
 */
export function QueryResult<Data>({
  query,
  lines = 3,
  height = 20,
  pad = false,
  box = false,
  children,
}: {
  query: Query<Data>;
  /** How tall its place is while it loads. */
  lines?: number;
  height?: number;
  /** It stands in a card whose content reaches its edges. */
  pad?: boolean;
  /** What is shown makes its own card: its place is one, too. */
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
